import { keepFirst, readKept } from '../../api/storage.ts';
import type { Picture, Settings, Turn } from './formats/conversation.ts';
import { NEW_SETTINGS } from './formats/conversation.ts';

/** What the view keeps, and a reload brings back. */
export interface ChatState {
  readonly settings: Settings;
  readonly turns: readonly Turn[];
  /** What the user types. */
  readonly draft: { readonly text: string; readonly pictures: readonly Picture[] };
  /** The user's message that is edited. */
  readonly edit: { readonly id: number; readonly text: string } | null;
}

export const NEW_STATE: ChatState = {
  settings: NEW_SETTINGS,
  turns: [],
  draft: { text: '', pictures: [] },
  edit: null,
};

/** Version of the state's shape, in the key. */
const keyOf = (account: string) => `oriel.chat.2.${account}`;

/** The state before the reload. An answer that the reload ended is marked as stopped. */
export function restore(account: string): ChatState {
  const kept = readKept<ChatState>(keyOf(account));
  if (kept === null) return NEW_STATE;
  const turns = kept.turns.map((turn) =>
    turn.type === 'answer' && turn.isStreaming
      ? { ...turn, isStreaming: false, isStopped: true }
      : turn,
  );
  return { ...NEW_STATE, ...kept, turns };
}

/** Keeps the state for a reload, without raw events where it is too large. @returns false if it is lost then */
export function keep(account: string, state: ChatState): boolean {
  const turns = state.turns.map((turn) =>
    turn.type === 'answer' ? { ...turn, events: [], eventsOmitted: turn.events.length } : turn,
  );
  return keepFirst(keyOf(account), [state, { ...state, turns }]);
}
