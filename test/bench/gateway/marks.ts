/** Pieces of text in one stream. */
export const PIECES = 200;

/** Milliseconds between two pieces of a paced stream. */
export const PACE = 20;

/** Bytes of text in one piece of a large stream. */
export const LARGE_PIECE = 16 * 1024;

/** What streams a model of the upstream gives; its name says it. */
export const PACES = ['flat', 'paced', 'prompt', 'large'] as const;
export type Pace = (typeof PACES)[number];

/**
 * The text of one piece. It carries its number and when it was sent, because the text is all that
 * outlives a translation.
 */
export function pieceOf(index: number, sent: number): string {
  return `~${index}.${sent}~ small blue boats`;
}

/** Microseconds on a clock that all processes of a machine share. */
export function now(): number {
  return Number(process.hrtime.bigint() / 1000n);
}
