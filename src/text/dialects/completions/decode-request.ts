import { checkedBody } from '../../../schema/body.ts';
import { invalid } from '../../../schema/invalid.ts';
import { type TextRequest, type Turn, turnOf } from '../../canonical/canonical.ts';
import { openaiEndUser } from '../end-user.ts';
import { collectRest, type Findings } from '../native-parts.ts';
import { stopOf } from '../openai-fields.ts';
import { type CompletionsRequest, fields } from './fields.ts';

/** Choices of one request, those of all prompts together. */
const MAX_CHOICES = 128;

/** The prompts of a valid request. */
export function promptsOf({ prompt }: Pick<CompletionsRequest, 'prompt'>): readonly string[] {
  return typeof prompt === 'string' ? [prompt] : prompt;
}

/** Refuses what chat models cannot do. */
function refuseCompletionOnly({ n, best_of, logprobs, suffix }: CompletionsRequest): void {
  const refuse = (param: string, why: string) => {
    throw invalid(param, why, 'unsupported_parameter');
  };
  if (suffix != null && suffix !== '') {
    refuse('suffix', 'the models behind this endpoint are chat models, which cannot insert text');
  }
  if (logprobs != null) {
    refuse('logprobs', 'this endpoint reports no log probabilities; leave it out');
  }
  if (best_of != null && best_of !== (n ?? 1)) {
    const choices = `expected the same as n, ${n ?? 1}, or none, received ${best_of}`;
    refuse('best_of', `${choices}: answers are not ranked here`);
  }
}

/** A message of a user for each prompt. @throws Failure for an empty one */
function conversationsOf(body: CompletionsRequest): readonly (readonly Turn[])[] {
  return promptsOf(body).map((text, index) => {
    const path = typeof body.prompt === 'string' ? 'prompt' : `prompt[${index}]`;
    if (text === '') throw invalid(path, 'expected a text that is not empty, received ""');
    const parts = [{ type: 'text', path, text } as const];
    return [turnOf('user', path, parts)];
  });
}

export function decodeRequest(input: unknown): TextRequest {
  const body: CompletionsRequest = checkedBody(fields.schema, input);
  refuseCompletionOnly(body);
  const findings: Findings = { native: [], advice: [] };
  collectRest('completions', fields, body, '', findings);
  const conversations = conversationsOf(body);
  const choices = (body.n ?? 1) * conversations.length;
  if (choices > MAX_CHOICES) {
    const received = `${body.n} for each of ${conversations.length} prompts`;
    throw invalid('n', `expected at most ${MAX_CHOICES} choices in all, received ${received}`);
  }
  return Object.assign(fields.decodeSettings(body), {
    dialect: 'completions',
    body,
    model: body.model,
    stream: body.stream === true,
    includeUsage: body.stream === true && body.stream_options?.include_usage === true,
    turns: conversations.flat(),
    conversations,
    tools: [],
    stop: stopOf(body),
    n: choices === 1 ? null : choices,
    ...findings,
    endUser: openaiEndUser(body),
  });
}
