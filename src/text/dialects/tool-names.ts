import { createHash } from 'node:crypto';
import type { TextRequest } from '../canonical.ts';

/** What OpenAI and Anthropic both take for the name of a tool. */
const TAKEN = /^[A-Za-z0-9_-]{1,64}$/;
const LENGTH = 64;
const HASH = 8;

/** The name of a tool as every provider takes it: where it is none, shortened, with a hash of it. */
export function nameOnWire(name: string): string {
  if (TAKEN.test(name)) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH);
  const plain = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, LENGTH - HASH - 1);
  return `${plain}_${hash}`;
}

/** Whether a request has a tool whose name cannot be sent as it is. */
export function hasLongNames({ tools }: TextRequest): boolean {
  return tools.some((tool) => tool.type === 'tool' && !TAKEN.test(tool.name));
}

/** Gives the client's names of tools back for those that were sent. */
export function namesOf({ tools, turns }: TextRequest): (wire: string) => string {
  let names: Map<string, string> | undefined;
  return (wire) => {
    if (!names) {
      const all = [...tools, ...turns.flatMap((turn) => turn.tools ?? [])];
      names = new Map(
        all.flatMap((tool) =>
          tool.type === 'tool' ? [[nameOnWire(tool.name), tool.name] as const] : [],
        ),
      );
    }
    return names.get(wire) ?? wire;
  };
}
