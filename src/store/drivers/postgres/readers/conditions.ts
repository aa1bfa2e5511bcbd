import { encodeText } from '../database/text.ts';

/** Conditions of a query, of which those without a value are left out. */
export class Conditions {
  readonly values: unknown[] = [];
  readonly #conditions: string[] = [];

  /** The conditions, of which each holds. */
  get text(): string {
    return this.#conditions.join(' AND ') || 'true';
  }

  get where(): string {
    return `WHERE ${this.text}`;
  }

  add(condition: string, value: string | number | undefined): void {
    if (value === undefined) return;
    this.values.push(typeof value === 'string' ? encodeText(value) : value);
    this.#conditions.push(`${condition} $${this.values.length}`);
  }

  /** Rows whose column has one of the values. */
  addList(column: string, texts: readonly string[] | undefined): void {
    if (texts === undefined) return;
    this.values.push(texts.map(encodeText));
    this.#conditions.push(`${column} = ANY($${this.values.length}::text[])`);
  }
}

export function ofAccount(accountId: string | undefined): Conditions {
  const conditions = new Conditions();
  conditions.add('account_id =', accountId);
  return conditions;
}
