import type { TextRequest } from '../canonical/canonical.ts';
import type { Ability, Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import type { EmulatedAnswer, Emulation, RequestEmulation, TakeEvent } from './emulation.ts';
import { emulateJsonObject } from './json-object.ts';
import { emulateNamespaces } from './namespaces.ts';
import { emulateStop } from './stop.ts';
import { emulateTextInput } from './text-input.ts';
import {
  emulateAddedTools,
  emulateAllowedTools,
  emulateSingleCall,
  emulateToolSearch,
} from './tools.ts';

/** In the order in which they change a request; events of answers pass them in the reverse order. */
const EMULATIONS: readonly (readonly [Ability, Emulation])[] = [
  ['added-tools', emulateAddedTools],
  ['allowed-tools', emulateAllowedTools],
  ['namespaces', emulateNamespaces],
  ['tool-search', emulateToolSearch],
  ['text-input', emulateTextInput],
  ['json-object', emulateJsonObject],
  ['single-call', emulateSingleCall],
  ['stop', emulateStop],
];

/** A request as an upstream's format can express it, and the filters of the events of its answers. */
export class EmulatedRequest {
  readonly request: TextRequest;
  /** Paths of fields that the upstream is not asked to obey. */
  readonly ignored: readonly string[];
  readonly #applied: readonly RequestEmulation[];

  constructor(request: TextRequest, applied: readonly RequestEmulation[]) {
    const streams = applied.some((one) => one.streams);
    this.request =
      streams && !request.stream ? { ...request, stream: true, includeUsage: true } : request;
    this.ignored = applied.flatMap((one) => one.ignored ?? []);
    this.#applied = applied.filter((one) => one.filter !== undefined);
  }

  /** Where the events of one answer go, so that what comes out is what the client asked for. */
  filter(answer: EmulatedAnswer): TakeEvent {
    return this.#applied.reduce<TakeEvent>(
      (emit, { filter }) => filter!({ ...answer, emit }),
      answer.emit,
    );
  }
}

/**
 * Replaces what an upstream of another format lacks. What the client's own format has, upstreams of it
 * are assumed to have.
 *
 * @throws Failure invalid_request where the answer could not be right
 */
export function emulate(request: TextRequest, target: Target): EmulatedRequest {
  if (request.dialect === target.dialect) return new EmulatedRequest(request, []);
  return applyAll(request, target, dialectNamed(target.dialect).abilities ?? []);
}

/** Replaces what the sandbox lacks, whatever its client's format is. */
export function emulateForSandbox(request: TextRequest, target: Target): EmulatedRequest {
  return applyAll(request, target, ['json-object', 'stop']);
}

function applyAll(
  request: TextRequest,
  target: Target,
  abilities: readonly Ability[],
): EmulatedRequest {
  const applied: RequestEmulation[] = [];
  let current = request;
  for (const [ability, emulation] of EMULATIONS) {
    if (abilities.includes(ability)) continue;
    const emulated = emulation(current, target);
    if (emulated === null) continue;
    applied.push(emulated);
    current = emulated.request;
  }
  return new EmulatedRequest(current, applied);
}
