import type { Settings, Turn } from '../conversation.ts';
import type { Model } from '../models.ts';
import type { AnswerDecoder, Json } from './answer.ts';

export interface Conversation {
  readonly settings: Settings;
  readonly turns: readonly Turn[];
}

/** One of the three formats of text. */
export interface Format {
  readonly label: string;
  readonly path: string;
  /** Efforts of reasoning that the format has words for; null for all. */
  readonly efforts: readonly string[] | null;
  readonly highestTemperature: number;
  /** The request's body. */
  bodyOf(conversation: Conversation, model: Model): Json;
  decoder(): AnswerDecoder;
}
