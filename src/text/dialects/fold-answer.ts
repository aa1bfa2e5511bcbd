import type { ReasoningSignature } from '../canonical/canonical.ts';
import type { Citation, TextEvent, Usage } from '../canonical/events.ts';

type EventOf<Type extends TextEvent['type']> = TextEvent & { readonly type: Type };

/** A call; its text is the arguments or the input, empty where there are none. */
export type CallBlock = Omit<EventOf<'tool-start'>, 'type'> & {
  readonly type: 'call';
  readonly text: string;
};

/** A citation whose positions are known. */
type PlacedCitation = Citation & { readonly start: number; readonly end: number };

export type AnswerBlock =
  | {
      readonly type: 'text';
      readonly text: string;
      readonly citations: readonly PlacedCitation[];
      readonly logprobs: readonly unknown[];
    }
  | { readonly type: 'refusal'; readonly text: string }
  | {
      readonly type: 'reasoning';
      readonly text: string;
      readonly signature: ReasoningSignature | null;
    }
  | CallBlock
  | EventOf<'native'>;

/** A whole answer. */
export interface FoldedAnswer {
  /** Null where the provider names none. */
  model: string | null;
  readonly blocks: AnswerBlock[];
  usage: Usage | null;
  /** Null where the answer has no end. */
  finish: EventOf<'finish'> | null;
}

/** Folds the events of one answer. @throws Failure if the answer failed */
export function foldAnswer(events: readonly TextEvent[]): FoldedAnswer {
  const answer: FoldedAnswer = { model: null, blocks: [], usage: null, finish: null };
  const { blocks } = answer;
  let text = '';
  let citations: PlacedCitation[] = [];
  let logprobs: unknown[] = [];
  let call: EventOf<'tool-start'> | null = null;
  for (const event of events) {
    switch (event.type) {
      case 'start':
        answer.model = event.model;
        break;
      case 'usage':
        answer.usage = event.usage;
        break;
      case 'text-start':
        citations = [];
        logprobs = [];
        text = '';
        break;
      case 'refusal-start':
      case 'reasoning-start':
        text = '';
        break;
      case 'tool-start':
        call = event;
        text = '';
        break;
      case 'text-delta':
        text += event.text;
        if (event.logprobs) for (const token of event.logprobs) logprobs.push(token);
        break;
      case 'refusal-delta':
      case 'reasoning-delta':
        text += event.text;
        break;
      case 'tool-delta':
        text += event.json;
        break;
      case 'citation': {
        // A citation without positions covers its block so far.
        const { start, end } = event.citation;
        citations.push({ ...event.citation, start: start ?? 0, end: end ?? text.length });
        break;
      }
      case 'text-end':
        blocks.push({ type: 'text', text, citations, logprobs });
        break;
      case 'refusal-end':
        blocks.push({ type: 'refusal', text });
        break;
      case 'reasoning-end':
        blocks.push({ type: 'reasoning', text, signature: event.signature });
        break;
      case 'tool-end':
        if (call) blocks.push({ ...call, type: 'call', text });
        break;
      case 'native':
        blocks.push(event);
        break;
      case 'finish':
        answer.finish = event;
        answer.usage = event.usage ?? answer.usage;
        break;
      case 'error':
        throw event.failure;
    }
  }
  return answer;
}
