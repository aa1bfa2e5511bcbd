import type { Effort } from '../../config/models.ts';
import type { MediaPart, TextRequest } from '../canonical.ts';
import { budgetOf } from '../dialects/budgets.ts';
import { invalid } from '../dialects/request-errors.ts';
import { pathOf } from '../dialects/request-settings.ts';
import { Hints } from './hints.ts';
import { beginning, type Prompt, type Result, textsIn } from './prompt.ts';
import { Unmakeable } from './schema/unmakeable.ts';
import { makeValue } from './schema/value.ts';

/** Characters of a prompt that are quoted, and of a tool's result. */
const QUOTED = 500;

/** Steps that reasoning takes. */
const STEPS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1,
  low: 2,
  medium: 4,
  high: 8,
  xhigh: 12,
  max: 16,
};

/** What each model does where nobody says how much it is to reason. */
const USUAL: Readonly<Record<Model, Effort>> = { chat: 'none', reasoner: 'high' };

export type Model = 'chat' | 'reasoner';

/** What the model thinks before it answers; empty where it does not. */
export function reasoningFor({ reasoning }: TextRequest, model: Model, prompt: Prompt): string {
  const budget = reasoning?.budget ?? null;
  const paid = budget === null ? USUAL[model] : effortOf(budget);
  const effort = reasoning?.effort ?? paid;
  // The reasoner cannot be asked not to.
  const steps = model === 'reasoner' ? Math.max(1, STEPS[effort]) : STEPS[effort];
  if (steps === 0) return '';
  const lines = Array.from({ length: steps }, (_, index) => {
    const thought = THOUGHTS[index % THOUGHTS.length]!;
    return `Step ${index + 1} of ${steps}: ${thought}`;
  });
  return [
    `The sandbox makes as if it reasoned about: ${beginning(prompt.text, 80)}`,
    ...lines,
  ].join('\n');
}

const THOUGHTS = [
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
 * What the model answers, piece by piece where it is long.
 *
 * @throws Failure invalid_request where the answer is to fit a schema for which nothing is found
 */
export function answerFor(request: TextRequest, prompt: Prompt, repeat: number | null) {
  const { format } = request;
  if (format?.type === 'json-schema') return [JSON.stringify(valueFor(request, format, prompt))];
  if (format?.type === 'json-object') {
    return [JSON.stringify({ sandbox: true, said: beginning(prompt.text, QUOTED) })];
  }
  return repeat === null ? [sentences(prompt)] : repeated(repeat);
}

function valueFor(
  request: TextRequest,
  { schema }: { readonly schema: object },
  prompt: Prompt,
): unknown {
  try {
    return makeValue(schema, new Hints(prompt.text));
  } catch (error) {
    if (!(error instanceof Unmakeable)) throw error;
    throw invalid(
      pathOf(request, 'format'),
      `the sandbox finds no value for this schema: ${error.message}`,
      'unsupported_schema',
    );
  }
}

function sentences({ text, media, results }: Prompt): string {
  const said = ['This is the sandbox: no model read this.'];
  if (media.length > 0) said.push(`I see ${mediaIn(media)}.`);
  for (const result of results) said.push(resultIn(result));
  if (text.trim() !== '') said.push(`You said: ${beginning(text.trim(), QUOTED)}`);
  else if (media.length + results.length === 0) said.push('You said nothing.');
  return said.join(' ');
}

/** `2 images and 1 document`. */
function mediaIn(media: readonly MediaPart[]): string {
  const kinds = ['image', 'document', 'audio', 'video'] as const;
  return kinds
    .map((kind) => ({ kind, count: media.filter((part) => part.media === kind).length }))
    .filter(({ count }) => count > 0)
    .map(({ kind, count }) => `${count} ${kind}${count === 1 ? '' : 's'}`)
    .join(' and ');
}

function resultIn({ name, part }: Result): string {
  const told = textsIn(part.content)
    .map(({ text }) => text)
    .join('\n');
  const tool = name === null ? 'A tool' : `The tool ${name}`;
  return `${tool} ${part.isError ? 'failed' : 'answered'}: ${beginning(told.trim(), QUOTED)}`;
}

const CYCLE = 'This is the sandbox and it says these words again and again'.split(' ');

/** Words that are made as they are read: a million of them take no room. */
function* repeated(words: number): Generator<string> {
  for (let index = 0; index < words; index += 1) {
    const word = CYCLE[index % CYCLE.length]!;
    yield index === 0 ? word : ` ${word}`;
  }
}

export const REFUSAL = 'This is the sandbox, and it was asked to refuse: I cannot help with that.';
export const OPENING = 'This is the sandbox, and this answer';
