import type { Model } from '../../../api/resource.ts';
import { type AnswerReader, callsOf, textOf } from './answer.ts';
import {
  type AnswerTurn,
  awaitsResults,
  type FormatName,
  type Settings,
  type Turn,
  type UserTurn,
} from './conversation.ts';
import type { Json } from './json.ts';

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
  readonly Reader: new () => AnswerReader;
}

/** Efforts of reasoning that a model has and a format can ask for. */
export function effortsOf(
  { capability_metadata: { reasoning } }: Pick<Model, 'capability_metadata'>,
  { efforts }: Pick<Format, 'efforts'>,
): readonly string[] {
  const supported = reasoning.supported_efforts;
  return supported.filter((effort) => efforts === null || efforts.includes(effort));
}

/** An answer as a request of a format sends it back: what the format keeps of its own answers, else the text. */
export function sentAnswer(turn: AnswerTurn, format: FormatName) {
  const calls = awaitsResults(turn) ? callsOf(turn.answer) : [];
  return {
    text: textOf(turn.answer),
    calls: calls.map((call, index) => ({ ...call, result: turn.results[index] ?? '' })),
    replay: turn.format === format ? turn.replay : null,
  };
}

/** A user's pictures and text as parts of a format. */
export function partsOf(
  { text, pictures }: UserTurn,
  imageOf: (url: string) => Json,
  type: string,
): readonly Json[] {
  return [...pictures.map(({ url }) => imageOf(url)), ...(text === '' ? [] : [{ type, text }])];
}

/** A user's text, or parts where there are pictures. */
export function contentOf(
  turn: UserTurn,
  imageOf: (url: string) => Json,
  type: string,
): string | readonly Json[] {
  return turn.pictures.length === 0 ? turn.text : partsOf(turn, imageOf, type);
}

/** The field `tools` of a request; no field without tools. */
export function toolsOf({ tools }: Settings, encode: (tool: Json, schema: unknown) => Json): Json {
  if (tools.length === 0) return {};
  const encoded = tools.map(({ name, description, parameters }) =>
    encode({ name, ...(description !== '' && { description }) }, JSON.parse(parameters)),
  );
  return { tools: encoded };
}

const numberOf = (typed: string): number | null => (typed.trim() === '' ? null : Number(typed));

/** Settings with the values that a request has; null for the model's default. */
export function settingsOf({ model, system, temperature, maxTokens, effort }: Settings) {
  return {
    model,
    system,
    temperature: numberOf(temperature),
    maxTokens: numberOf(maxTokens),
    effort: effort === '' ? null : effort,
  };
}
