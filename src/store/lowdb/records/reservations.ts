import type { Account, ApiKey } from '../../account.ts';
import type { ActiveReservations } from '../../funds.ts';
import type { KeyHolder, Payer, Reservation } from '../../store.ts';

/** Credits reserved for requests in progress, in memory only: the end of the process releases them. */
export class Reservations {
  readonly #reservations = new Map<string, Reservation>();
  /** Reserved micro-credits by the identifier of an account or a key. */
  readonly #sums = new Map<string, number>();
  #count = 0;
  #total = 0;

  /** Reserved micro-credits of all accounts. */
  get total(): number {
    return this.#total;
  }

  begin(accountId: string, keyId: string, amount: number): Reservation {
    this.#count += 1;
    const reservation = { id: `reservation_${this.#count}`, accountId, keyId, amount };
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
  add({ accountId, keyId }: Payer, amount: number): void {
    this.#total += amount;
    this.#change(accountId, amount);
    this.#change(keyId, amount);
  }

  of(accountId: string, keyId: string): ActiveReservations {
    return { account: this.#sums.get(accountId) ?? 0, key: this.#sums.get(keyId) ?? 0 };
  }

  /** A record whose `reserved` includes the reservations in memory. */
  addTo<Holder extends Account | ApiKey>(holder: Holder): Holder {
    const sum = this.#sums.get(holder.id);
    return sum === undefined ? holder : { ...holder, reserved: holder.reserved + sum };
  }

  addToBoth({ key, account }: KeyHolder): KeyHolder {
    return { key: this.addTo(key), account: this.addTo(account) };
  }

  #change(id: string, amount: number): void {
    const sum = (this.#sums.get(id) ?? 0) + amount;
    if (sum === 0) this.#sums.delete(id);
    else this.#sums.set(id, sum);
  }
}
