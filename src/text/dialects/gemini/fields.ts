import * as v from 'valibot';
import { openObject } from '../../../schema/choice.ts';
import { integer } from '../../../schema/fields.ts';
import { isObject } from '../../../schema/untrusted.ts';
import { fieldTable, gated, object } from '../field-table.ts';
import {
  advice,
  content,
  hint,
  meaning,
  named,
  native,
  read,
  untranslated,
  values,
} from '../fields.ts';
import { type Check, feature, reference } from '../inspection.ts';
import { fewTexts, functionName, optionalText, SETTING, someOf, text } from '../shared-fields.ts';
import { isStoredFile } from './media.ts';

/** A file of an account at Google, or an address that Google reads. */
const fileUri: Check = (value, found) => {
  if (typeof value !== 'string') return;
  if (isStoredFile(value)) found.use('file_id', value);
  else found.address(value);
};

const blob = fieldTable({
  ...content({ mimeType: text, data: text }),
  ...read('displayName'),
});

const media = {
  inlineData: meaning('Base64.', { value: blob }),
  fileData: meaning('A file by its address.', {
    fields: {
      ...content({ mimeType: optionalText }),
      ...read('displayName'),
      fileUri: meaning('Address or stored file.', { required: text, check: fileUri }),
    },
  }),
  ...named(native('How the media are read.'), 'mediaProcessing', 'videoMetadata'),
  mediaResolution: advice('Resolution at which the media are read.'),
};

const ran = (check: Check) => native('What Google ran for an earlier answer.', { check });

/** Google's tool that an earlier answer called. */
const toolType: Check = (value, found) => {
  const type = isObject(value) ? String(value['toolType']) : '';
  if (type.startsWith('URL')) found.use('web_fetch');
  else found.use(type.startsWith('FILE') ? 'file_search' : 'web_search');
};

/** Properties of which a part has one. */
const KINDS = [
  ...['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'],
  ...['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'],
];

const part = fieldTable(
  {
    ...media,
    ...content({
      text: optionalText,
      thought: v.nullish(v.boolean()),
      thoughtSignature: optionalText,
    }),
    ...read('partMetadata'),
    functionCall: meaning('A tool call.', {
      fields: content({
        id: optionalText,
        name: functionName,
        args: v.nullish(openObject({})),
      }),
    }),
    functionResponse: meaning('The result of a tool call.', {
      fields: {
        ...content({ id: optionalText, name: functionName, response: openObject({}) }),
        ...named(native('Further results of the call.'), 'scheduling', 'willContinue'),
        parts: meaning('Media of the result.', {
          value: v.array(openObject({ inlineData: v.nullish(blob.schema) })),
          items: object(media),
        }),
      },
    }),
    ...named(ran(feature('code_interpreter')), 'executableCode', 'codeExecutionResult'),
    ...named(ran(toolType), 'toolCall', 'toolResponse'),
  },
  (value) => !KINDS.some((name) => name in value),
);

const parts = meaning('Parts.', { required: v.array(part.schema), items: part.check });

const message = fieldTable({
  role: meaning('Author of the message.', { value: v.picklist(['user', 'model', 'function']) }),
  parts,
});

const modalities: Check = (value, found) => {
  for (const one of Array.isArray(value) ? value : []) {
    if (one === 'IMAGE') found.use('image_generation');
    else if (one !== 'TEXT') found.use('audio');
  }
};

const textOnly = {
  words: '["TEXT"]',
  test: (value: unknown) => Array.isArray(value) && value.every((one) => one === 'TEXT'),
};

const LEVELS = ['THINKING_LEVEL_UNSPECIFIED', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH'];

export const configFields = fieldTable({
  temperature: SETTING.temperature,
  topP: SETTING.topP,
  topK: hint('Number of most likely tokens to choose from.', {
    value: integer(0),
    setting: 'topK',
  }),
  maxOutputTokens: SETTING.maxOutputTokens,
  stopSequences: meaning('Stop sequences.', { value: fewTexts(5), setting: 'stop' }),
  candidateCount: SETTING.n,
  seed: hint('Seed for reproducible sampling.', {
    value: integer(-(2 ** 31), 2 ** 31 - 1),
    setting: 'seed',
  }),
  frequencyPenalty: SETTING.frequencyPenalty,
  presencePenalty: SETTING.presencePenalty,
  responseLogprobs: SETTING.logprobs,
  logprobs: meaning('Number of most likely tokens to return at each position.', {
    value: integer(0),
    decides: ['topLogprobs'],
    neutral: values(0),
  }),
  responseSchema: meaning('JSON Schema of the output.', { value: openObject({}) }),
  responseJsonSchema: meaning('JSON Schema of the output.', {
    value: openObject({}),
    decides: ['format'],
  }),
  responseMimeType: native('Format of the output.', {
    value: text,
    decides: ['format'],
    neutral: values('text/plain', 'application/json'),
  }),
  responseFormat: untranslated('Format of the output.'),
  thinkingConfig: meaning('How much the model reasons.', {
    decides: ['reasoning'],
    fields: {
      ...content({ includeThoughts: v.nullish(v.boolean()) }),
      thinkingBudget: meaning('Reasoning budget in tokens; -1 for automatic.', {
        value: integer(-1),
      }),
      thinkingLevel: meaning('How much the model reasons.', {
        value: v.picklist([...LEVELS, ...LEVELS.map((level) => level.toLowerCase())]),
      }),
    },
  }),
  mediaResolution: advice('Resolution at which media are read.'),
  enableEnhancedCivicAnswers: native('Answers about civic matters.', { neutral: values(false) }),
  responseModalities: untranslated('Kinds of output.', {
    value: v.array(text),
    check: modalities,
    neutral: textOnly,
  }),
  imageConfig: untranslated('Images of the output.', { feature: 'image_generation' }),
  speechConfig: untranslated('Voice of the output.', { feature: 'audio' }),
});

const MODES = ['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED'] as const;

export const toolConfigFields = fieldTable({
  functionCallingConfig: meaning('Which tools the model must call.', {
    value: openObject({
      mode: v.nullish(v.picklist(MODES)),
      allowedFunctionNames: v.nullish(v.array(text)),
    }),
    decides: ['toolChoice'],
  }),
  includeServerSideToolInvocations: native('Whether the answer shows calls of hosted tools.', {
    neutral: values(false),
  }),
  retrievalConfig: native('Where the client is.'),
});

const declaration = fieldTable({
  ...content({
    name: functionName,
    description: optionalText,
    parameters: v.nullish(openObject({})),
    parametersJsonSchema: v.nullish(openObject({})),
    response: v.nullish(openObject({})),
    responseJsonSchema: v.nullish(openObject({})),
  }),
});

const hosted = (check: Check) => untranslated('A tool that Google runs.', { check });

const tool = fieldTable(
  {
    functionDeclarations: meaning('Functions.', { items: declaration }),
    googleSearch: hosted(feature('web_search')),
    googleSearchRetrieval: hosted(feature('web_search')),
    googleMaps: hosted(feature('web_search')),
    urlContext: hosted(feature('web_fetch')),
    codeExecution: hosted(feature('code_interpreter')),
    computerUse: hosted(feature('computer_use')),
    fileSearch: hosted(
      gated(
        feature('file_search'),
        object({
          fileSearchStoreNames: native('Stored files.', { check: reference('vector_store_ids') }),
        }),
      ),
    ),
    mcpServers: hosted(feature('mcp')),
  },
  // Each property with settings is a tool.
  (value, name) => isObject(value[name]),
);

/** The fields of a gemini request. */
export const fields = fieldTable({
  contents: meaning('The conversation so far.', {
    required: someOf(message.schema, 'a list of one content at least'),
    items: message.check,
  }),
  systemInstruction: meaning('Instructions.', {
    value: openObject({ parts: parts.schema }),
    check: message.check,
  }),
  tools: meaning('Tools that the model may call.', { items: tool }),
  toolConfig: meaning('Which tools the model must call.', { value: toolConfigFields }),
  generationConfig: meaning('Settings of the answer.', { value: configFields }),
  labels: advice('Labels of the request.'),
  model: advice('The model, which the address names.'),
  safetySettings: advice('Thresholds of the filters of Google.'),
  cachedContent: native('A prompt that Google stores.', {
    kept: 'content',
    check: reference('file_id'),
  }),
  serviceTier: advice('Priority and price of the request.', {
    feature: 'service_tier',
    neutral: values('standard', 'unspecified'),
  }),
  store: advice('Whether Google may store the answer.', {
    feature: 'conversation',
    neutral: values(false),
  }),
});

export type GeminiRequest = v.InferInput<typeof fields.schema>;
export type Content = v.InferInput<typeof message.schema>;
export type WirePart = v.InferInput<typeof part.schema>;
