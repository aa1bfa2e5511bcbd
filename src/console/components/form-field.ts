import type { PartialInputHTMLAttributes } from 'preact';
import { withQuery } from '../api/request.ts';

/** A value, or a value and its label. */
export type Choice = string | readonly [value: string, label: string];

export function pairOf(choice: Choice): Exclude<Choice, string> {
  return typeof choice === 'string' ? [choice, choice] : choice;
}

/** Limits of a number; a step of 1 takes whole numbers. */
interface Limits {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly step?: number | undefined;
}

/** A field of a form as data: a filter, an option of an operation or of a command, a parameter of the API. */
export interface FormField extends Limits {
  /** Name in the API, which errors of the server state too. */
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  /**
   * `late` gives its value when it is complete; `slider` is a number that may have a `slider`; `list` has an item in
   * each line.
   */
  readonly kind?:
    | ('text' | 'late' | 'area' | 'list' | 'number' | 'slider' | 'colour')
    | ('switch' | 'document' | 'file' | 'files');
  /** Makes it a list to choose from. */
  readonly choices?: readonly Choice[];
  readonly placeholder?: string;
  readonly isRequired?: boolean;
  /** Whether few need it: it is below the others, folded. */
  readonly isRare?: boolean;
  /** Of a switch: the value that is not sent. */
  readonly byDefault?: boolean;
  readonly slider?: (Required<Limits> & { readonly rest: number }) | null;
  readonly presets?: readonly { readonly name: string; readonly text: string }[];
  /** Types of files that the browser's dialog offers. */
  readonly accept?: string;
  /** Further attributes of the input. */
  readonly input?: Pick<
    PartialInputHTMLAttributes<HTMLInputElement>,
    'type' | 'inputMode' | 'maxLength' | 'autocomplete' | 'spellcheck' | 'min' | 'max'
  >;
}

/** Texts of a form by field; empty or missing for a field that is not sent, one line for an item of a list. */
export type Values = Readonly<Record<string, string>>;

/** Files of a form by field. */
export type Files = Readonly<Record<string, readonly File[]>>;

/** Why a text is no number within limits. */
export function numberFault({ min = -Infinity, max = Infinity, step }: Limits, text: string) {
  const number = Number(text);
  const isRight = number >= min && number <= max && Number.isFinite(number);
  if (isRight && (step !== 1 || Number.isSafeInteger(number))) return undefined;
  const range = Number.isFinite(max) ? ` from ${min} to ${max}` : ` from ${min}`;
  return `Use a ${step === 1 ? 'whole ' : ''}number${Number.isFinite(min) ? range : ''}.`;
}

/** Why a text cannot be the value of a field. */
function fieldFault(field: FormField, text: string): string | undefined {
  const { kind, choices, isRequired } = field;
  if (text.trim() !== '') {
    return kind === 'number' || kind === 'slider' ? numberFault(field, text) : undefined;
  }
  if (!isRequired || kind === 'file' || kind === 'files') return undefined;
  return choices ? 'Choose one.' : 'This field is required.';
}

/** Why the values of fields cannot be sent, by field. */
export function faultsOf(fields: readonly FormField[], values: Values): Values {
  const faults = fields.map((field) => [field.name, fieldFault(field, values[field.name] ?? '')]);
  return Object.fromEntries(faults.filter(([, fault]) => fault !== undefined));
}

/** The values of fields that an address states; empty for one that it lacks. */
export function filtersOf(fields: readonly FormField[], query: URLSearchParams): Values {
  return Object.fromEntries(fields.map(({ name }) => [name, query.get(name) ?? '']));
}

/** The filters that have a value. */
export function queryOf(filters: Values): URLSearchParams {
  return new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ''));
}

/** The place of a list with its filters. */
export const placeOf = (view: string, filters: Values): string => withQuery(view, queryOf(filters));
