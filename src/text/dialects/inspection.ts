import { isObject } from '../../schema/untrusted.ts';
import type { Feature } from '../../store/features.ts';
import { FILE_SCHEME, type Json } from '../canonical/canonical.ts';

/** A feature in a request that its model or its key must allow. */
export interface Use {
  readonly path: string;
  readonly feature: Feature;
  /** The identifier of a stored object at the provider; null where the request names none. */
  readonly id: string | null;
}

/** A property that no table of fields names. */
export interface UnknownField {
  readonly path: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly name: string;
}

/** Features, addresses and unknown properties of a request, beyond what is metered by tokens and stateless. */
export class Inspection {
  readonly uses: Use[] = [];
  /** Addresses that the provider would fetch. */
  readonly addresses: { readonly path: string; readonly url: string }[] = [];
  readonly unknown: UnknownField[] = [];
  /** The path of the value that is inspected; formatted only where something is found. */
  readonly #place: (string | number)[] = [];

  /** Inspects a property or an item of the current value. */
  within(key: string | number, check: Check, value: unknown, owner: Json): void {
    this.#place.push(key);
    check(value, this, owner);
    this.#place.pop();
  }

  use(feature: Feature, id: string | null = null): void {
    this.uses.push({ path: this.#path(), feature, id });
  }

  /** Forgets what was found at paths that are left out of the request. */
  forget(isLeftOut: (path: string) => boolean): void {
    const left = this.uses.filter(({ path }) => !isLeftOut(path));
    // As arguments of one call so many uses would not fit on the stack.
    this.uses.length = 0;
    for (const use of left) this.uses.push(use);
  }

  address(url: string): void {
    this.addresses.push({ path: this.#path(), url });
  }

  /** A property of the current value that no table of fields names. */
  unnamed(object: UnknownField['object'], name: string): void {
    this.#place.push(name);
    this.unknown.push({ path: this.#path(), object, name });
    this.#place.pop();
  }

  #path(): string {
    const path = this.#place.reduce<string>((before, key) => {
      return typeof key === 'number' ? `${before}[${key}]` : `${before}.${key}`;
    }, '');
    return path.replace(/^\./, '');
  }
}

/** Inspects one value of a request. @param owner the object that has it */
export type Check = (value: unknown, found: Inspection, owner: Json) => void;

/** Applies a check to a value, or to each value of a list. */
export function each(check: Check): Check {
  return (value, found, owner) => {
    if (!Array.isArray(value)) return check(value, found, owner);
    for (let index = 0; index < value.length; index += 1) {
      found.within(index, check, value[index], owner);
    }
  };
}

/** Allowed where a model or a key allows the feature. */
export const feature =
  (name: Feature): Check =>
  (_, found) =>
    found.use(name);

/** Identifiers of things that are stored at the provider: texts, or objects with an `id`. */
export function reference(name: Feature): Check {
  return each((value, found) => {
    const id = isObject(value) ? value['id'] : value;
    found.use(name, typeof id === 'string' ? id : null);
  });
}

export function all(...checks: readonly Check[]): Check {
  return (value, found, owner) => {
    for (const check of checks) check(value, found, owner);
  };
}

/** Data or an address: what has no scheme is Base64. */
export const media: Check = each((value, found, owner) => {
  if (typeof value !== 'string' || !/^[a-z][a-z\d+.-]*:/i.test(value.slice(0, 32))) return;
  address(value, found, owner);
});

/** An address that the provider reads, data within a URL, or a file that it has. */
export const address: Check = (value, found) => {
  if (typeof value !== 'string' || /^data:/i.test(value.slice(0, 5))) return;
  if (value.startsWith(FILE_SCHEME)) found.use('file_id', value);
  else found.address(value);
};
