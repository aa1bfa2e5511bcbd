import type { Account, ApiKey } from '../../account.ts';
import type { ActiveReservations } from '../../funds.ts';
import type { KeyHolder, Reservation } from '../../store.ts';

/** Credits held by requests under way, beside the records: they are given back when the process ends. */
export class Reservations {
  readonly #reservations = new Map<string, Reservation>();
  /** Sums by the identifier of an account or a key. */
  readonly #sums = new Map<string, number>();
  #count = 0;
  #total = 0;

  /** Of all accounts together. */
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

  /** Ends a reservation. False where it has ended before. */
  end(id: string): boolean {
    const reservation = this.#reservations.get(id);
    if (!reservation) return false;
    this.#reservations.delete(id);
    this.add(reservation, -reservation.amount);
    return true;
  }

  /** Reservations more, or less, beside the reservations that end by their identifiers. */
  add({ accountId, keyId }: Pick<Reservation, 'accountId' | 'keyId'>, amount: number): void {
    this.#total += amount;
    this.#change(accountId, amount);
    this.#change(keyId, amount);
  }

  of(accountId: string, keyId: string): ActiveReservations {
    return { account: this.#sums.get(accountId) ?? 0, key: this.#sums.get(keyId) ?? 0 };
  }

  /** A record with what is held of it among what is reserved. */
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
