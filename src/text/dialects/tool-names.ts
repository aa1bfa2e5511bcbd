import { createHash } from 'node:crypto';
import type { Json, TextRequest } from '../canonical/canonical.ts';

/** Names of tools that both OpenAI and Anthropic accept. */
const TAKEN = /^[A-Za-z0-9_-]{1,64}$/;
const LENGTH = 64;
const HASH = 8;

/** Encodes a tool's name so that every provider accepts it: others are shortened, with a hash at the end. */
export function nameOnWire(name: string): string {
  if (TAKEN.test(name)) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH);
  const plain = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, LENGTH - HASH - 1);
  return `${plain}_${hash}`;
}

/** Whether a request has a tool whose name must be encoded. */
export function hasLongNames({ tools }: TextRequest): boolean {
  return tools.some((tool) => tool.type === 'tool' && !TAKEN.test(tool.name));
}

/** Returns a function from encoded names of tools to the client's. */
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

/** The schema of a tool's parameters, which some upstreams require to name its type. */
export function objectSchema(parameters: Json): Json {
  return 'type' in parameters ? parameters : { type: 'object', ...parameters };
}
