import type { Failure } from '../../failure.ts';
import { isObject, nonEmptyTextOf } from '../../schema/untrusted.ts';
import type {
  DialectName,
  NativePart,
  RequestSetting,
  TextRequest,
} from '../canonical/canonical.ts';
import { type Field, noSettings } from './field-table.ts';
import { dialectNamed } from './registry.ts';
import { pathOf, valueAt } from './request-settings.ts';
import { type NeverOmitted, UnsupportedField } from './unsupported-field.ts';

/** The failure of a request with a part that the upstream's dialect cannot express. */
export function untranslatable(
  param: string,
  target: DialectName,
  why?: string,
  kept: NeverOmitted | null = 'content',
): Failure {
  return new UnsupportedField(param, why ?? lacks(target, nameAt(param)), kept);
}

/**
 * The failure of a request with a setting that the upstream's dialect cannot express.
 *
 * @param nearest the value that is sent where the setting is a hint or a limit; null to drop it
 */
export function unsupportedSetting<Setting extends RequestSetting>(
  request: TextRequest,
  setting: Setting,
  target: DialectName,
  why?: string,
  nearest: TextRequest[Setting] | null = null,
): Failure {
  const param = pathOf(request, setting);
  const { fields, reasoning } = dialectNamed(request.dialect);
  // Efforts above those of the upstream are refused to clients of chat, but not budgets, nor reasoning beside other fields.
  const isHint =
    setting === 'reasoning'
      ? !reasoning.refusesEfforts ||
        nearest === null ||
        (request.reasoning?.budget ?? null) !== null
      : fields.at(param.split('.'))?.class === 'hint';
  return new UnsupportedField(param, why ?? lacks(target, param), {
    paths: [param],
    isHint,
    remove: (sent) => ({ ...sent, [setting]: nearest }),
  });
}

/** Refuses a part that belongs to another dialect. */
export function refuseNative(part: NativePart, target: DialectName, kept?: NeverOmitted): never {
  throw untranslatable(part.path, target, refusalOf(part, target), kept);
}

/** Refuses an answer that the client began, which the upstream cannot continue. */
export function refusePrefill({ turns, dialect }: TextRequest, target: DialectName): void {
  const last = turns.at(-1);
  if (last?.role !== 'assistant') return;
  if (!last.partial && !dialectNamed(dialect).prefillsAnswer) return;
  const why = 'the upstream of this model cannot continue an answer that the client began';
  throw untranslatable(last.path, target, why, 'prefill');
}

/** Refuses a conversation whose last message is empty: without it, the upstream would continue its own answer. */
export function refuseEmpty({ turns }: TextRequest, target: DialectName): void {
  const last = turns.at(-1);
  if (last === undefined || last.role === 'assistant') return;
  if (!last.parts.every((part) => part.type === 'text' && part.text === '')) return;
  throw untranslatable(
    last.path,
    target,
    'it is empty, and the upstream of this model needs content',
  );
}

/** Refuses properties that belong to another dialect. */
export function refuseNativeFields({ native }: TextRequest, target: DialectName): void {
  const part = native.find(({ dialect }) => dialect !== target);
  if (part === undefined) return;
  const field = fieldOf(part);
  if (field?.kept !== undefined) refuseNative(part, target, field.kept);
  // Every message may have the same field.
  const pattern = patternOf(part);
  const same = native.filter((one) => one.dialect !== target && patternOf(one) === pattern);
  throw new UnsupportedField(part.path, refusalOf(part, target), {
    paths: same.map(({ path }) => path),
    isHint: isHint(part),
    remove: (sent) => ({ ...sent, native: sent.native.filter((one) => !same.includes(one)) }),
  });
}

const patternOf = ({ path }: NativePart): string => path.replace(/\[\d+\]/g, '[]');

const SETTINGS = Object.keys(noSettings()) as RequestSetting[];

/** Refuses settings, by default those that the target's dialect does not have, unless their values ask for what happens anyway. */
export function refuseSettings(
  request: TextRequest,
  target: DialectName,
  settings: readonly RequestSetting[] = SETTINGS.filter(
    (setting) => dialectNamed(target).settings[setting] === undefined,
  ),
): void {
  const refused = settings.find(
    (setting) => request[setting] !== null && !isNeutral(request, setting),
  );
  if (refused !== undefined) throw unsupportedSetting(request, refused, target);
}

/** Refuses names of participants. @param isNamed whether a turn's name has a meaning */
export function refuseNames(
  { turns }: TextRequest,
  target: DialectName,
  isNamed: (turn: TextRequest['turns'][number]) => boolean = () => true,
): void {
  const paths = turns
    .filter((turn) => turn.name !== null && isNamed(turn))
    .map(({ path }) => `${path}.name`);
  const [first] = paths;
  if (first === undefined) return;
  throw new UnsupportedField(first, lacks(target, 'names of participants'), {
    paths,
    isHint: true,
    remove: (sent) => ({ ...sent, turns: sent.turns.map((turn) => ({ ...turn, name: null })) }),
  });
}

function isNeutral(request: TextRequest, setting: RequestSetting): boolean {
  const path = pathOf(request, setting);
  const { fields } = dialectNamed(request.dialect);
  const value = valueAt(request.body, path) ?? request[setting];
  return fields.at(path.split('.'))?.neutral?.test(value, request.body) ?? false;
}

export function lacks(target: DialectName, what: string): string {
  return `the ${dialectNamed(target).label} format of this model's upstream has no ${what}`;
}

/** The name of the field that a path leads to: `citations` for `messages[0].content[1].citations`. */
function nameAt(path: string): string {
  if (path.endsWith(']')) return 'such content';
  return path.replace(/\[\d+\]/g, '').replace(/^.*\./, '');
}

/** Whether a part only advises the model. */
export const isHint = (part: NativePart): boolean => fieldOf(part)?.class === 'hint';

function fieldOf({ path, dialect }: NativePart): Field | undefined {
  return dialectNamed(dialect).fields.at(path.replace(/\[\d+\]/g, '').split('.'));
}

/** Why an upstream of another dialect cannot have a part. */
export function refusalOf(part: NativePart, target: DialectName): string {
  const { path, dialect, value } = part;
  const { label } = dialectNamed(dialect);
  const what = describe(path, value);
  const field = /\]$/.test(path) ? undefined : fieldOf(part);
  if (field && !field.hasEquivalents) return lacks(target, what);
  const known =
    field === undefined && !/[[\]]/.test(path) ? ', a field that it does not know,' : '';
  return (
    `Oriel does not translate ${what}${known} of the ${label} format ` +
    `to the ${dialectNamed(target).label} format of this model's upstream yet`
  );
}

/** A part by its type and name, a property by its name. */
function describe(path: string, value: unknown): string {
  if (!path.endsWith(']') || !isObject(value)) return nameAt(path);
  const type = nonEmptyTextOf(value['type']);
  const name = nonEmptyTextOf(value['name']);
  const typed = type === null ? nameAt(path) : `type ${type.slice(0, 64)}`;
  return name === null ? typed : `${JSON.stringify(name.slice(0, 64))} of ${typed}`;
}
