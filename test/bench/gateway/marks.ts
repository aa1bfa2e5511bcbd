/** Pieces of text in one stream. */
export const PIECES = 200;

/** Milliseconds between two pieces of a paced stream. */
export const PACE = 20;

/** Bytes of text in one piece of a large stream. */
export const LARGE_PIECE = 16 * 1024;

/** Kinds of streams; the model name of the upstream is the kind. */
export const PACES = ['flat', 'paced', 'prompt', 'large'] as const;
export type Pace = (typeof PACES)[number];

/**
 * The text of one piece. It has its number and time of sending, because a translation keeps nothing but the
 * text.
 */
export function pieceOf(index: number, sent: number): string {
  return `~${index}.${sent}~ small blue boats`;
}

/** Microseconds on a clock that all processes of a machine share. */
export const now = (): number => Number(process.hrtime.bigint() / 1000n);
