import type { Header } from './header.ts';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Properties of an image between two steps. */
export interface Facts extends Size {
  /** 1, or the number of frames (pages) that are processed. Width and height are those of one. */
  readonly frames: number;
  readonly hasAlpha: boolean;
  /** Whether it has more than eight bits per channel. */
  readonly deep: boolean;
  readonly grey: boolean;
}

/** The facts of a decoded input. */
export function factsOf(header: Header, frames: number): Facts {
  const { width, height, hasAlpha, deep, grey } = header;
  return { width, height, frames, hasAlpha, deep, grey };
}

export function isSameSize(one: Size, other: Size): boolean {
  return one.width === other.width && one.height === other.height;
}
