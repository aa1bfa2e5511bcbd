import type {
  Json,
  Part,
  TextEvent,
  TextRequest,
  Tool,
  Turn,
} from '../../../src/text/canonical.ts';
import type { Target } from '../../../src/text/dialects/dialect.ts';
import { answerFromSandbox } from '../../../src/text/sandbox/sandbox.ts';
import { textRequest, turn as turnOf } from '../request.ts';

function textPart(text: string): Part {
  return { type: 'text', text, path: 'messages[0].content' };
}

export function turn(role: Turn['role'], ...parts: (Part | string)[]): Turn {
  return turnOf(
    role,
    parts.map((part) => (typeof part === 'string' ? textPart(part) : part)),
  );
}

export function tool(name: string, parameters: Json | null = null): Tool {
  return { type: 'tool', name, description: null, parameters, strict: null, path: 'tools[0]' };
}

/** A request that leaves everything to the model but what a test says. */
export function requestFor(prompt: string, more: Partial<TextRequest> = {}): TextRequest {
  return textRequest({
    model: 'sandbox-chat',
    stream: true,
    turns: [turn('user', prompt)],
    ...more,
  });
}

export function targetFor(model: string, maxOutputTokens: number | null = null): Target {
  return {
    dialect: 'chat',
    provider: 'sandbox',
    model,
    rules: null,
    reasons: true,
    maxOutputTokens,
  };
}

/** All that the sandbox emits. */
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

export interface Told {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly json: string }[];
  /** The last event. */
  readonly end: TextEvent;
}

/** What events say, as one. */
export function toldBy(events: readonly TextEvent[]): Told {
  const told = { text: '', reasoning: '', refusal: '' };
  const calls: { id: string; name: string; json: string }[] = [];
  for (const event of events) {
    if (event.type === 'text-delta') told.text += event.text;
    if (event.type === 'reasoning-delta') told.reasoning += event.text;
    if (event.type === 'refusal-delta') told.refusal += event.text;
    if (event.type === 'tool-start') calls.push({ id: event.id, name: event.name, json: '' });
    if (event.type === 'tool-delta') calls.at(-1)!.json += event.json;
  }
  return { ...told, calls, end: events.at(-1)! };
}

export async function answerTo(
  prompt: string,
  more: Partial<TextRequest> = {},
  target: Target = targetFor('chat'),
): Promise<Told> {
  return toldBy(await eventsOf(requestFor(prompt, more), target));
}
