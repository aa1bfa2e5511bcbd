import type { TextModel, TextRoute } from '../../config/catalog/catalog.ts';
import { invalid } from '../../schema/invalid.ts';
import type { Json, TextRequest } from '../canonical/canonical.ts';
import { conversationsOf } from '../canonical/canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { isHint } from '../dialects/request-errors.ts';
import { UnsupportedField } from '../dialects/unsupported-field.ts';
import { type EmulatedRequest, emulate } from '../emulation/emulate.ts';
import { leaveOut, type Remaining } from './leave-out.ts';

/** Fields that are dropped; undefined for hints alone. */
type Policy = TextModel['onUnsupported'];

/** Times that a request is encoded again without a further field: more than formats differ by. */
const MAX_REMOVALS = 64;

/** A request in the format of an upstream. */
export interface EncodedRequest {
  readonly emulated: EmulatedRequest;
  /** A body for each of its conversations. */
  readonly bodies: readonly Json[];
  /** Paths of fields that the format cannot express and that were left out. */
  readonly dropped: readonly string[];
}

/**
 * Encodes a request for a route, without the unsupported fields that the route, or else its model, drops.
 *
 * @param id the model's public identifier
 * @throws Failure invalid_request for a field that the format of the upstream cannot express
 */
export function encodeFor(
  request: TextRequest,
  target: Target,
  {
    route,
    model,
    id,
  }: { readonly route: TextRoute; readonly model: TextModel; readonly id: string },
): EncodedRequest {
  const { encodeRequest } = dialectNamed(target.dialect);
  const policy = route.onUnsupported ?? model.onUnsupported;
  const dropped = new Set<string>();
  let sent = request;
  for (let removals = 0; ; removals += 1) {
    try {
      const emulated = emulate(sent, target);
      // Only a route of the client's own dialect is asked for several answers in one request.
      const single = { ...emulated.request, n: null };
      const bodies = conversationsOf(single).map((one) => encodeRequest(one, target));
      return { emulated, bodies, dropped: [...dropped] };
    } catch (error) {
      if (!(error instanceof UnsupportedField) || error.removal === null) throw error;
      const { paths, isHint, remove } = error.removal;
      const kept = paths.find((path) => !drops(policy, path, isHint));
      if (kept !== undefined) throw withRemedy(error, kept, id);
      if (removals >= MAX_REMOVALS) throw error;
      sent = remove(sent);
      for (const path of paths) dropped.add(path);
    }
  }
}

/** A request without hints that the sandbox lacks and the policy drops, such as samplers of some servers. */
export function withoutHints(
  request: TextRequest,
  { route, model }: { readonly route: TextRoute; readonly model: TextModel },
): Remaining {
  const policy = route.onUnsupported ?? model.onUnsupported;
  const hosted = request.native.filter((one) => isHint(one) && drops(policy, one.path, true));
  return leaveOut(request, { uncallable: [], hosted });
}

/**
 * Whether a policy drops a field. Its list names fields by their path without indexes or by their last name, in the
 * spelling of any format: `top_k` is `generationConfig.topK` too.
 *
 * @param isHint whether the field only advises the model
 */
export function drops(policy: Policy, path: string, isHint: boolean): boolean {
  if (typeof policy === 'string') return policy === 'drop';
  if (isHint || policy === undefined) return isHint;
  const pattern = spelling(path.replace(/\[\d+\]/g, '[]'));
  const last = pattern.replace(/^.*\./, '');
  return policy.some((name) => spelling(name) === pattern || spelling(name) === last);
}

/** A name without the differences between `top_k` and `topK`. */
const spelling = (name: string): string => name.replaceAll('_', '').toLowerCase();

function withRemedy({ message, param }: UnsupportedField, path: string, id: string): Error {
  const name = path.replace(/\[\d+\]/g, '[]');
  const remedy = `the operator of this server can have it left out (models.${id}.onUnsupported: [${name}])`;
  const reason = message.slice(`${param}: `.length);
  return invalid(path, `${reason}; ${remedy}`, 'not_supported_by_model');
}
