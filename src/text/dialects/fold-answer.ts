import type { ReasoningSignature } from '../canonical/canonical.ts';
import type { Citation, TextEvent, Usage } from '../canonical/events.ts';

type EventOf<Type extends TextEvent['type']> = TextEvent & { readonly type: Type };

/** A call; its text is the arguments or the input, empty where there are none. */
export type CallBlock = Omit<EventOf<'tool-start'>, 'type'> & {
  readonly type: 'call';
  text: string;
};

export type AnswerBlock =
  | {
      readonly type: 'text';
      text: string;
      /** All have positions. */
      readonly citations: (Citation & { readonly start: number; readonly end: number })[];
      readonly logprobs: unknown[];
    }
  | { readonly type: 'refusal'; text: string }
  | { readonly type: 'reasoning'; text: string; signature: ReasoningSignature | null }
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
  let open: AnswerBlock | undefined;
  const begin = (block: AnswerBlock) => {
    open = block;
    answer.blocks.push(block);
  };
  for (const event of events) {
    switch (event.type) {
      case 'start':
        answer.model = event.model;
        break;
      case 'usage':
        answer.usage = event.usage;
        break;
      case 'text-start':
        begin({ type: 'text', text: '', citations: [], logprobs: [] });
        break;
      case 'refusal-start':
        begin({ type: 'refusal', text: '' });
        break;
      case 'reasoning-start':
        begin({ type: 'reasoning', text: '', signature: null });
        break;
      case 'tool-start':
        begin({ ...event, type: 'call', text: '' });
        break;
      case 'native':
        begin(event);
        break;
      case 'text-delta':
        for (const token of event.logprobs ?? []) {
          if (open?.type === 'text') open.logprobs.push(token);
        }
        append(open, event.text);
        break;
      case 'refusal-delta':
      case 'reasoning-delta':
        append(open, event.text);
        break;
      case 'tool-delta':
        append(open, event.json);
        break;
      case 'citation':
        if (open?.type === 'text') {
          // A citation without positions covers its block so far.
          const { start, end } = event.citation;
          const range = { start: start ?? 0, end: end ?? open.text.length };
          open.citations.push({ ...event.citation, ...range });
        }
        break;
      case 'reasoning-end':
        if (open?.type === 'reasoning') open.signature = event.signature;
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

function append(open: AnswerBlock | undefined, text: string): void {
  if (open && 'text' in open) open.text += text;
}
