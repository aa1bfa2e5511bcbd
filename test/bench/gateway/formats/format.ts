/** One wire format of text: request of the client, response of the upstream, and how to read it. */
export interface Format {
  readonly path: string;
  request(model: string, stream: boolean): object;
  /** The whole response. */
  answer(): object;
  /** The text of a whole response. */
  textOf(answer: unknown): unknown;
  /** The events before the first piece of text. */
  opening(): string;
  /** The event of one piece of text, numbered from 0. */
  delta(text: string, index: number): string;
  /** The events after `count` pieces of text, which make up `text`. */
  closing(text: string, count: number): string;
  /** The text that an event adds; `undefined` where it adds none. */
  deltaOf(event: unknown): unknown;
  /** Text that only the last event of a complete stream has. */
  readonly ending: string;
}

export const SYSTEM =
  'You are a patient guide to the coast. Answer in whole sentences, name the places that you speak of, ' +
  'and say so where you are not sure of something.';
export const QUESTION =
  'I have one free day in early spring and would like to see a fishing harbour before sunrise. ' +
  'Where should I go, when should I be there, and what should I look for?';
/** Nothing in it needs an escape in JSON or in a configuration of nginx. */
export const ANSWER =
  'Go to the old harbour below the lighthouse and be there half an hour before sunrise. The boats come in ' +
  'on the last of the tide, and the crates are sorted under the lamps along the northern quay. Look for ' +
  'the small blue boats first: they carry line-caught fish and sell from the deck until the auction bell. ' +
  'In early spring the fog often lies on the water until eight, so take something warm, stay behind the ' +
  'yellow line while the cranes are moving, and have breakfast in the hall once the auction is over. I am ' +
  'not sure whether the hall opens on Sundays.';

export const ID = 'bench0123456789abcdefghij';
export const CREATED = 1_763_700_000;
export const USAGE = { input: 92, output: 128 };

/** Model name in all responses of the upstream. */
export const MODEL = 'bench-model-2026-01-31';
