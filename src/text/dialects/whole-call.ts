import type { TextEvent } from '../canonical/canonical.ts';

interface Call {
  readonly id: string;
  /** The client's name of the tool. */
  readonly name: string;
  /** The arguments; empty where there are none. */
  readonly json: string;
}

/** The events of a call that came in one piece. */
export function wholeCall(block: number, { id, name, json }: Call): TextEvent[] {
  return [
    { type: 'tool-start', block, id, name },
    ...(json === '' ? [] : [{ type: 'tool-delta' as const, block, json }]),
    { type: 'tool-end', block },
  ];
}
