import type { Effort } from '../../config/settings/models.ts';
import { counted } from '../../words.ts';
import type { MediaPart, TextRequest } from '../canonical/canonical.ts';
import { budgetOf } from '../dialects/budgets.ts';
import { pathOf } from '../dialects/request-settings.ts';
import { type Prompt, type ToolResult, textsIn, truncated } from './prompt.ts';
import { PromptValues } from './schema/prompt-values.ts';
import { withSupported } from './schema/step-budget.ts';
import { generateValue } from './schema/value-generator.ts';

/** Characters of a prompt, and of a tool's result, that an answer quotes. */
const QUOTED = 500;

/** Lines of reasoning by effort. */
const REASONING_LINES: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1,
  low: 2,
  medium: 4,
  high: 8,
  xhigh: 12,
  max: 16,
};

/** The effort of each model if the request names none. */
const DEFAULT_EFFORT: Readonly<Record<Model, Effort>> = { chat: 'none', reasoner: 'high' };

export type Model = 'chat' | 'reasoner';

/** The model's reasoning; empty if it does not reason. */
export function reasoningFor({ reasoning }: TextRequest, model: Model, prompt: Prompt): string {
  const budget = reasoning?.budget ?? null;
  const effort = reasoning?.effort ?? (budget === null ? DEFAULT_EFFORT[model] : effortOf(budget));
  // The reasoner cannot switch reasoning off.
  const count = Math.max(model === 'reasoner' ? 1 : 0, REASONING_LINES[effort]);
  if (count === 0) return '';
  const lines = Array.from({ length: count }, (_, index) => {
    const line = REASONING[index % REASONING.length]!;
    return `Step ${index + 1} of ${count}: ${line}`;
  });
  return [`The sandbox pretends to reason about: ${truncated(prompt.text, 80)}`, ...lines].join(
    '\n',
  );
}

const REASONING = [
  'read what was asked.',
  'look for tools, a schema and images in the request.',
  'consider what a model would say.',
  'remember that no model is here.',
];

function effortOf(budget: number): Effort {
  const efforts = ['max', 'xhigh', 'high', 'medium'] as const;
  return efforts.find((effort) => budgetOf(effort) <= budget) ?? 'low';
}

/**
 * The texts of an answer.
 *
 * @throws Failure invalid_request if the sandbox does not support the schema of the response format
 */
export function answerFor(request: TextRequest, prompt: Prompt, repeat: number | null) {
  const { format } = request;
  if (format?.type === 'json-schema') {
    const values = new PromptValues(prompt.text);
    const about = 'the sandbox finds no value for this schema';
    const value = withSupported(pathOf(request, 'format'), about, () =>
      generateValue(format.schema, values),
    );
    return [JSON.stringify(value)];
  }
  if (format?.type === 'json-object') {
    return [JSON.stringify({ sandbox: true, said: truncated(prompt.text, QUOTED) })];
  }
  return repeat === null ? [plainAnswer(prompt)] : repeatedWords(repeat);
}

function plainAnswer({ text, media, results }: Prompt): string {
  const sentences = ['This is the sandbox: no model read this.'];
  if (media.length > 0) sentences.push(`I see ${mediaIn(media)}.`);
  for (const result of results) sentences.push(resultIn(result));
  if (text.trim() !== '') sentences.push(`You said: ${truncated(text.trim(), QUOTED)}`);
  else if (media.length + results.length === 0) sentences.push('You said nothing.');
  return sentences.join(' ');
}

/** `2 images and 1 document`. */
function mediaIn(media: readonly MediaPart[]): string {
  const kinds = ['image', 'document', 'audio', 'video'] as const;
  return kinds
    .map((kind) => ({ kind, count: media.filter((part) => part.media === kind).length }))
    .filter(({ count }) => count > 0)
    .map(({ kind, count }) => counted(count, kind))
    .join(' and ');
}

function resultIn({ name, part }: ToolResult): string {
  const text = textsIn(part.content)
    .map(({ text }) => text)
    .join('\n');
  const tool = name === null ? 'A tool' : `The tool ${name}`;
  return `${tool} ${part.isError ? 'failed' : 'answered'}: ${truncated(text.trim(), QUOTED)}`;
}

const REPEATED_WORDS = 'This is the sandbox and it says these words again and again'.split(' ');

/** Generates words as they are read, so that a million of them take no memory. */
function* repeatedWords(words: number): Generator<string> {
  for (let index = 0; index < words; index += 1) {
    const word = REPEATED_WORDS[index % REPEATED_WORDS.length]!;
    yield index === 0 ? word : ` ${word}`;
  }
}

export const REFUSAL = 'This is the sandbox, and it was asked to refuse: I cannot help with that.';
export const OPENING = 'This is the sandbox, and this answer';
