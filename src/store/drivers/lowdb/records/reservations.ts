import {
  type BudgetScope,
  holdersOf,
  type Payer,
  type Reservation,
  type ScopedPayer,
} from '../../../budgets.ts';
import { Sums } from '../../../sums.ts';

/** Credits reserved for requests in progress, in memory only: the end of the process releases them. */
export class Reservations {
  readonly #reservations = new Map<string, Reservation>();
  /** Reserved micro-credits by the identifier of an account, a key, a team or a window. */
  readonly #sums = new Sums();
  #count = 0;
  #total = 0;

  /** Reserved micro-credits of all accounts. */
  get total(): number {
    return this.#total;
  }

  begin({ accountId, keyId }: Payer, scope: BudgetScope | undefined, amount: number): Reservation {
    this.#count += 1;
    const reservation = { id: `reservation_${this.#count}`, accountId, keyId, amount, scope };
    this.#reservations.set(reservation.id, reservation);
    this.add(reservation, amount);
    return reservation;
  }

  /** Ends a reservation. Returns false if it has ended before. */
  end(id: string): boolean {
    const reservation = this.#reservations.get(id);
    if (!reservation) return false;
    this.#reservations.delete(id);
    this.add(reservation, -reservation.amount);
    return true;
  }

  /** Adds to the reserved credits, or with a negative amount releases some, without a reservation to end. */
  add(payer: ScopedPayer, amount: number): void {
    this.#total += amount;
    for (const id of holdersOf(payer)) this.#sums.add(id, amount);
  }

  /** Reserved micro-credits of an account, a key, a team or a window. */
  readonly of = (id: string): number => this.#sums.of(id);

  /** A record whose `reserved` includes the reservations in memory. */
  readonly addTo = <Holder extends { readonly id: string; readonly reserved: number }>(
    holder: Holder,
  ): Holder => {
    const sum = this.#sums.of(holder.id);
    return sum === 0 ? holder : { ...holder, reserved: holder.reserved + sum };
  };
}
