import { type Answer, type AnswerError, callsOf, NO_ANSWER } from './answer.ts';
import type { Json } from './json.ts';

export type FormatName = 'chat' | 'responses' | 'messages';

/** A tool as the user wrote it. */
export interface Tool {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: string;
}

/** What every request is sent with. Numbers are as the user typed them; empty is the model's default. */
export interface Settings {
  readonly model: string;
  readonly format: FormatName;
  readonly system: string;
  readonly temperature: string;
  readonly maxTokens: string;
  readonly effort: string;
  readonly tools: readonly Tool[];
}

export interface Picture {
  readonly name: string;
  /** A data URL. */
  readonly url: string;
  /** What was done to the file, for the user: `scaled to 1568 × 1045`. */
  readonly note: string;
}

export interface UserTurn {
  readonly id: number;
  readonly type: 'user';
  readonly text: string;
  readonly pictures: readonly Picture[];
}

/** An event as it came, for the inspector. */
export interface RawEvent {
  /** Milliseconds since the request was sent. */
  readonly at: number;
  readonly event: string;
  readonly data: string;
}

export interface AnswerTurn {
  readonly id: number;
  readonly type: 'answer';
  readonly model: string;
  readonly format: FormatName;
  readonly answer: Answer;
  /** The answer in its format, to be sent back in the same format. */
  readonly replay?: readonly Json[] | null;
  /** Results that the user gave to calls, by the place of the call in the answer. */
  readonly results: readonly string[];
  readonly isStreaming: boolean;
  /** The user stopped it. */
  readonly isStopped?: boolean;
  /** Body of the request. */
  readonly body: Json;
  readonly status?: number;
  readonly requestId?: string | null;
  /** Fields that the server left out of the request, as its headers name them. */
  readonly leftOut?: string;
  readonly events: readonly RawEvent[];
  /** Events that came after as many as are kept. */
  readonly eventsOmitted: number;
  /** Milliseconds until the first of text, reasoning or a call. */
  readonly firstToken?: number;
  /** Milliseconds of the whole answer. */
  readonly duration?: number;
  /** What the account was charged, as the server recorded it. */
  readonly credits?: number;
}

export type Turn = UserTurn | AnswerTurn;

export const NEW_SETTINGS: Settings = {
  model: '',
  format: 'chat',
  system: '',
  temperature: '',
  maxTokens: '',
  effort: '',
  tools: [],
};

export function newAnswer(
  id: number,
  { model, format }: Pick<Settings, 'model' | 'format'>,
  body: Json,
): AnswerTurn {
  return {
    id,
    type: 'answer',
    model,
    format,
    answer: NO_ANSWER,
    results: [],
    isStreaming: true,
    body,
    events: [],
    eventsOmitted: 0,
  };
}

/** Whether the calls of an answer can get results: the arguments are whole only where the answer is. */
export function awaitsResults({ answer }: AnswerTurn): boolean {
  return answer.isComplete && answer.error === null && callsOf(answer).length > 0;
}

export const CONNECTION_LOST: AnswerError = {
  message: 'The connection ended before the answer was complete.',
  type: 'network_error',
  code: 'connection_lost',
};
