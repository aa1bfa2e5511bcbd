import { isObject } from '../../schema/untrusted.ts';
import type { Json, TextRequest } from '../canonical/canonical.ts';
import type { Inspection } from '../dialects/inspection.ts';
import { valueAt } from '../dialects/request-settings.ts';
import { isShared, mayLeaveServer } from '../execution/model-routes.ts';
import type { Allowance } from '../policy/allowance.ts';
import { itemOf } from '../policy/leave-out.ts';
import { withoutPaths } from '../policy/paths.ts';
import { StoredResponses } from '../stored/stored-responses.ts';
import type { Stage } from './stage.ts';

/** Leaves out references to stored objects that the account may not name. */
export const leaveOutReferences: Stage = (execution, { store }) => {
  const { call, config, model, allowance, inspection, request } = execution;
  if (!mayLeaveServer(model, config)) return;
  const references = allowance.referencesIn(inspection);
  if (references.length === 0) return;
  const stored = new StoredResponses(store, call.holder.account.id, config);
  return stored.given(references).then((given) => {
    allowance.permitReferences(given);
    const left = withoutUnvouched(request, inspection, allowance, isShared(model, config));
    if (left === null) return;
    execution.decode(left.body);
    execution.inspect();
    execution.omit({ ignored: left.removed });
  });
};

/** A body without references that its account cannot use. */
interface Unreferenced {
  readonly body: Json;
  /** Paths of what was removed. */
  readonly removed: readonly string[];
}

/**
 * Removes identifiers of stored items that were not given to the account here: another server, or this one
 * before a restart, gave them to the client. An item that has content keeps it, and one that has nothing else goes whole,
 * unless the account may name stored items.
 *
 * @param isShared whether the provider's account serves several clients
 * @returns null where nothing was removed, or nothing else would be left of the input
 */
function withoutUnvouched(
  { body }: TextRequest,
  inspection: Inspection,
  allowance: Allowance,
  isShared: boolean,
): Unreferenced | null {
  const removed: string[] = [];
  for (const use of inspection.uses) {
    const item = itemOf(use.path);
    if (use.feature !== 'item_reference' || item === null) continue;
    if (allowance.vouchesFor(use, isShared)) continue;
    const value = valueAt(body, item);
    if (!isObject(value)) continue;
    const isInline = hasContent(value);
    if (!isInline && allowance.allows(use.feature)) continue;
    removed.push(isInline ? use.path : item);
    if (value['type'] === 'reasoning') removed.push(...idsAfter(body['input'], item));
  }
  if (removed.length === 0) return null;
  const left = withoutPaths(body, removed);
  return left['input'] === undefined ? null : { body: left, removed };
}

/**
 * Paths of the identifiers of messages and calls that belong to a reasoning item. OpenAI refuses those that it stores
 * "without its required 'reasoning' item".
 */
function idsAfter(input: unknown, path: string): readonly string[] {
  const paths: string[] = [];
  const start = Number(/^input\[(\d+)\]$/.exec(path)?.[1]) + 1;
  if (!Array.isArray(input) || Number.isNaN(start)) return paths;
  for (let index = start; index < input.length; index += 1) {
    const { type = 'message', role, id } = input[index] as Json;
    // What follows the next reasoning item belongs to that one.
    if (type === 'reasoning' || (role !== 'assistant' && !/_call$/.test(String(type)))) break;
    if (typeof id === 'string' && NAMELESS.includes(type)) paths.push(`input[${index}].id`);
  }
  return paths;
}

/** Types of items that OpenAI accepts without an identifier. */
const NAMELESS: readonly unknown[] = ['message', 'function_call', 'custom_tool_call'];

/** Properties of an item that say what it is, not what it holds. */
const ABOUT: readonly string[] = ['id', 'status', 'type'];

function hasContent(item: Json): boolean {
  return Object.entries(item).some(([name, value]) => {
    if (ABOUT.includes(name) || value === null || value === '') return false;
    return typeof value !== 'object' || Object.keys(value).length > 0;
  });
}
