import * as v from 'valibot';
import { openObject } from '../../../schema/choice.ts';
import { field, integer, number } from '../../../schema/fields.ts';

const text = v.string();
const count = integer(0);

const blob = openObject({ mimeType: text, data: text });

const part = openObject({
  text: v.nullish(text),
  thought: v.nullish(v.boolean()),
  thoughtSignature: v.nullish(text),
  inlineData: v.nullish(blob),
  fileData: v.nullish(openObject({ fileUri: text, mimeType: v.nullish(text) })),
  functionCall: v.nullish(
    openObject({
      id: v.nullish(text),
      name: v.pipe(text, v.nonEmpty(), v.metadata({ expects: "the function's name" })),
      args: v.nullish(openObject({})),
    }),
  ),
  functionResponse: v.nullish(
    openObject({
      id: v.nullish(text),
      name: v.pipe(text, v.nonEmpty(), v.metadata({ expects: "the function's name" })),
      response: openObject({}),
      parts: v.nullish(v.array(openObject({ inlineData: v.nullish(blob) }))),
    }),
  ),
});

const content = openObject({
  role: v.nullish(v.picklist(['user', 'model', 'function'])),
  parts: v.array(part),
});

const declaration = openObject({
  name: v.pipe(text, v.nonEmpty(), v.metadata({ expects: "the function's name" })),
  description: v.nullish(text),
  parameters: v.nullish(openObject({})),
  parametersJsonSchema: v.nullish(openObject({})),
});

const MODES = ['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED'] as const;

const callingConfig = openObject({
  mode: v.nullish(v.picklist(MODES)),
  allowedFunctionNames: v.nullish(v.array(text)),
});

const LEVELS = ['THINKING_LEVEL_UNSPECIFIED', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH'] as const;

const thinkingConfig = openObject({
  includeThoughts: v.nullish(v.boolean()),
  thinkingBudget: v.nullish(field(integer(-1), 'Reasoning budget in tokens; -1 for automatic.')),
  thinkingLevel: v.nullish(
    v.picklist([...LEVELS, ...LEVELS.map((level) => level.toLowerCase())] as string[]),
  ),
});

const generationConfig = openObject({
  temperature: v.nullish(field(number(0, 2), 'Sampling temperature.')),
  topP: v.nullish(
    field(number(0, 1), 'Nucleus sampling: the share of probability to choose from.'),
  ),
  topK: v.nullish(field(integer(0), 'Number of most likely tokens to choose from.')),
  maxOutputTokens: v.nullish(field(integer(1), 'Maximum output tokens, including reasoning.')),
  stopSequences: v.nullish(
    v.pipe(v.array(text), v.maxLength(5), v.metadata({ expects: 'a list of up to 5 texts' })),
  ),
  candidateCount: v.nullish(field(integer(1), 'Number of answers.')),
  seed: v.nullish(field(integer(-(2 ** 31), 2 ** 31 - 1), 'Seed for reproducible sampling.')),
  presencePenalty: v.nullish(field(number(-2, 2), 'Penalty for tokens that occurred.')),
  frequencyPenalty: v.nullish(field(number(-2, 2), 'Penalty for frequent tokens.')),
  responseLogprobs: v.nullish(
    field(v.boolean(), 'Whether to return log probabilities of output tokens.'),
  ),
  logprobs: v.nullish(field(count, 'Number of most likely tokens to return at each position.')),
  responseMimeType: v.nullish(field(text, 'text/plain, or application/json for JSON.')),
  responseSchema: v.nullish(openObject({})),
  responseJsonSchema: v.nullish(openObject({})),
  responseModalities: v.nullish(v.array(text)),
  thinkingConfig: v.nullish(thinkingConfig),
});

/** The body of models.generateContent, with the names of fields in camel case. */
export const geminiRequest = openObject({
  contents: field(v.pipe(v.array(content), v.nonEmpty()), 'The conversation so far.', {
    expects: 'a list of one content at least',
  }),
  systemInstruction: v.nullish(openObject({ parts: v.array(part) })),
  tools: v.nullish(
    field(
      v.array(openObject({ functionDeclarations: v.nullish(v.array(declaration)) })),
      'Tools that the model may call.',
    ),
  ),
  toolConfig: v.nullish(openObject({ functionCallingConfig: v.nullish(callingConfig) })),
  generationConfig: v.nullish(generationConfig),
});

export type GeminiRequest = v.InferInput<typeof geminiRequest>;
export type Content = v.InferInput<typeof content>;
export type WirePart = v.InferInput<typeof part>;
