import type { Payer, Reservation } from '../../../budgets.ts';
import { accountFunds, checkAmount, checkFunds, spendable } from '../../../funds.ts';
import type { MeteredUsage } from '../../../ledger.ts';
import type { Records } from './records.ts';

/** The methods that reserve and charge credits of requests. */
export class CreditWriter {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async reserve(accountId: string, keyId: string, amount: number): Promise<Reservation> {
    const payer = { accountId, keyId };
    const { bookedState, reservations } = this.#records;
    const holder = this.#records.holder(payer, bookedState);
    const scope = this.#records.scopeOf(holder);
    const funds = this.#records.funds(holder, scope, bookedState);
    checkFunds(funds, amount, reservations.of, this.#records.now());
    // A free request has no charge to lose: its usage is kept in memory until it can be written.
    if (amount > 0) {
      const { failure } = this.#records.commits;
      if (failure) throw failure;
      this.#records.checkBacklog();
    }
    return reservations.begin(payer, scope, amount);
  }

  async settle(source: Reservation | Payer, metered: MeteredUsage): Promise<number> {
    checkAmount(metered.charge, 'charge');
    const { bookedState, reservations, charges, now } = this.#records;
    const holder = this.#records.holder(source, bookedState);
    const isReserved = 'id' in source;
    if (isReserved && !reservations.end(source.id)) return 0;
    this.#records.checkOpen();
    const scope = isReserved ? source.scope : this.#records.scopeOf(holder);
    // What was reserved is charged in full, also where a budget was lowered since.
    const reserved = isReserved
      ? Math.min(source.amount, accountFunds(holder, reservations.of))
      : 0;
    let amount = metered.charge;
    if (amount > reserved) {
      const funds = this.#records.funds(holder, scope, bookedState);
      amount = Math.min(amount, Math.max(reserved, spendable(funds, reservations.of)));
    }
    await charges.add({ payer: source, scope, metered, amount, at: now() });
    return amount;
  }

  async release(reservation: Reservation): Promise<void> {
    this.#records.reservations.end(reservation.id);
  }
}
