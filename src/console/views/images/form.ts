import type { Operation, OperationField, Values } from './operations.ts';

/** Kind of the control for a field. */
type Control = 'switch' | 'choice' | 'number' | 'colour' | 'list' | 'document' | 'file' | 'text';

export function controlOf(field: OperationField): Control {
  if (field.type === 'file') return 'file';
  if (field.type === 'boolean') return 'switch';
  if (field.choices) return 'choice';
  if (field.presets) return 'document';
  if (field.type !== 'string') return 'number';
  if (field.repeatable) return 'list';
  return field.expects.startsWith('a colour') ? 'colour' : 'text';
}

/** Other names of a format, which would stand twice in a list. */
const ALIASES: Readonly<Record<string, string>> = { jpg: 'jpeg', tif: 'tiff' };

/** Choices of a field and their labels. A value of an address may be none of them. */
export function choicesOf(
  { choices, required, default: byDefault }: OperationField,
  value: string,
): (readonly [value: string, label: string])[] {
  const all = choices ?? [];
  const listed = all.filter(
    (choice) => choice === value || (choice !== byDefault && !all.includes(ALIASES[choice] ?? '')),
  );
  const unknown = value === '' || listed.includes(value) ? [] : [value];
  const none = byDefault === null ? 'Automatic' : `${byDefault} (default)`;
  return [
    ...(required ? [] : [['', none] as const]),
    ...[...listed, ...unknown].map((choice) => [choice, choice] as const),
  ];
}

/** Limits of a number; those that only keep integers exact are none. */
export function limitsOf({ minimum, maximum }: OperationField) {
  return {
    min: minimum !== null && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined,
    max: maximum !== null && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined,
  };
}

/** Largest range of a slider: on a wider one, a step would be less than a pixel. */
const MAX_RANGE = 720;

/** Limits and step of a slider for a number; null if it would be of no use. */
export function sliderOf(field: OperationField) {
  const { min, max } = limitsOf(field);
  const rest = Number(field.sample ?? field.default ?? Number.NaN);
  if (min === undefined || max === undefined || max - min > MAX_RANGE || Number.isNaN(rest))
    return null;
  const step = field.type === 'integer' ? 1 : max - min <= 1 ? 0.01 : max - min <= 10 ? 0.1 : 1;
  // A slider for a factor of 0 to 100 around 1 cannot be set precisely.
  return Number.isInteger(rest) || step < 1 ? { min, max, step, rest } : null;
}

/** What a field is for and what it accepts. */
export function hintOf(field: OperationField): string {
  const { description, expects, repeatable } = field;
  const control = controlOf(field);
  const { min, max } = limitsOf(field);
  const limits =
    min !== undefined && max !== undefined
      ? `${min} to ${max}`
      : min !== undefined
        ? `from ${min}`
        : '';
  const accepted: Partial<Record<Control, string>> = {
    number: limits,
    colour: expects.replace(/^a colour such as/, 'for example'),
    text: expects === 'a text' ? '' : expects,
    list: `${expects}, one on each line`,
    file: repeatable ? expects : '',
  };
  const text = [description, accepted[control]].filter(Boolean).join('; ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Fields of every image operation that most people set. */
const ESSENTIAL = new Set(['format', 'quality']);

/** The fields of an operation: its own, and those of encoding that most operations have. */
export function groupsOf(operation: Operation, all: readonly Operation[]) {
  const isCommon = (name: string) =>
    all.filter(({ fields }) => fields.some((field) => field.name === name)).length > all.length / 2;
  const isMain = ({ name, required, sample }: OperationField) =>
    required || sample !== null || ESSENTIAL.has(name) || !isCommon(name);
  return {
    main: operation.fields.filter(isMain),
    further: operation.fields.filter((field) => !isMain(field)),
  };
}

/** Why values cannot be sent, by field. */
export function faultsOf({ fields }: Operation, values: Values): ReadonlyMap<string, string> {
  const faults = new Map<string, string>();
  for (const field of fields) {
    const fault = faultOf(field, (values[field.name] ?? '').trim());
    if (fault !== null) faults.set(field.name, fault);
  }
  return faults;
}

function faultOf(field: OperationField, value: string): string | null {
  const control = controlOf(field);
  if (value === '') {
    if (!field.required || control === 'file') return null;
    return control === 'choice' ? 'Choose one.' : 'This field is required.';
  }
  if (control !== 'number') return null;
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = limitsOf(field);
  const number = Number(value);
  const isRight =
    Number.isFinite(number) &&
    number >= min &&
    number <= max &&
    (field.type !== 'integer' || Number.isInteger(number));
  if (isRight) return null;
  const noun = field.type === 'integer' ? 'a whole number' : 'a number';
  const range = Number.isFinite(max) ? ` from ${min} to ${max}` : ` from ${min}`;
  return `Use ${noun}${Number.isFinite(min) ? range : ''}.`;
}
