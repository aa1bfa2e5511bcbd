import '../../../src/text/built-in-dialects.ts';
import type { Json, Part, TextRequest, Turn } from '../../../src/text/canonical/canonical.ts';
import type { TextEvent } from '../../../src/text/canonical/events.ts';
import type { Target } from '../../../src/text/dialects/dialect.ts';
import { answerFromSandbox } from '../../../src/text/sandbox/sandbox.ts';
import { tool as toolOf, words } from '../parts.ts';
import { target, textRequest, turn as turnOf } from '../request.ts';

export function turn(role: Turn['role'], ...parts: (Part | string)[]): Turn {
  return turnOf(
    role,
    parts.map((part) => (typeof part === 'string' ? words(part) : part)),
  );
}

export const tool = (name: string, parameters: Json | null = null) => toolOf(name, { parameters });

/** A request with one user turn and default settings. */
export function requestFor(prompt: string, more: Partial<TextRequest> = {}): TextRequest {
  return textRequest({
    model: 'sandbox-chat',
    stream: true,
    turns: [turn('user', prompt)],
    ...more,
  });
}

export const targetFor = (model: string, maxOutputTokens: number | null = null) =>
  target('chat', { provider: 'sandbox', model, reasons: true, maxOutputTokens });

/** All events of the sandbox's answer. */
export async function eventsOf(
  request: TextRequest,
  target: Target = targetFor('chat'),
): Promise<TextEvent[]> {
  const events: TextEvent[] = [];
  await answerFromSandbox(request, target, {
    emit: (event) => void events.push(event),
    signal: new AbortController().signal,
  });
  return events;
}

export interface Answer {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly json: string }[];
  /** The last event. */
  readonly end: TextEvent;
}

/** Joins the deltas of events. */
export function answerOf(events: readonly TextEvent[]): Answer {
  const joined = { text: '', reasoning: '', refusal: '' };
  const calls: { id: string; name: string; json: string }[] = [];
  for (const event of events) {
    if (event.type === 'text-delta') joined.text += event.text;
    if (event.type === 'reasoning-delta') joined.reasoning += event.text;
    if (event.type === 'refusal-delta') joined.refusal += event.text;
    if (event.type === 'tool-start') calls.push({ id: event.id, name: event.name, json: '' });
    if (event.type === 'tool-delta') calls.at(-1)!.json += event.json;
  }
  return { ...joined, calls, end: events.at(-1)! };
}

export async function answerTo(
  prompt: string,
  more: Partial<TextRequest> = {},
  target: Target = targetFor('chat'),
): Promise<Answer> {
  return answerOf(await eventsOf(requestFor(prompt, more), target));
}
