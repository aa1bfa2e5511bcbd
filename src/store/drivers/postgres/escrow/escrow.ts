import type { Failure } from '../../../../failure.ts';
import type { ScopedPayer } from '../../../budgets.ts';
import { addCounts, NO_USAGE, type UsageCounts, utcDayOf } from '../../../ledger.ts';
import type { Charge, Fold } from './bank.ts';

/** Seconds over which the rate of spending is averaged. */
const RATE_SECONDS = 20;

/** Seconds for which the most credits in use are kept at least, and twice that at most: for clients that ask seldom. */
const PEAK_SECONDS = 30;

/** A charge of one text request. */
export interface Settled {
  readonly model: string;
  readonly tags?: string | undefined;
  readonly counts: Partial<UsageCounts>;
  /** Micro-credits. */
  readonly amount: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Credits of one payer that this node has drawn in advance. Amounts are micro-credits. */
export class Escrow {
  readonly payer: ScopedPayer;
  #drawn = 0;
  /** Reserved for requests in progress. */
  #reserved = 0;
  /** Charged, and not booked yet. */
  #charged = 0;
  /** To be released with the next fold. */
  #returning = 0;
  /** Draws under way, and whether the commit of one before them is unknown. */
  #draws = 0;
  #isUncertain = false;
  /** Charges by day, model and tags, which the next fold books. */
  #charges = new Map<string, Charge>();
  /** Most credits in use of late, and in the PEAK_SECONDS before. */
  #peak = 0;
  #formerPeak = 0;
  #reviews = 0;
  /** Credits spent since the last review, and those of a minute at the average rate of late. */
  #spent = 0;
  #minute = 0;

  constructor(payer: ScopedPayer) {
    this.payer = payer;
  }

  /** Credits that requests have reserved, or spent since the last fold. */
  get used(): number {
    return this.#reserved + this.#charged;
  }

  /** Credits that a new request can reserve. */
  get free(): number {
    return this.#drawn - this.used - this.#returning;
  }

  /** Drawn credits that no request has reserved or spent. */
  get idle(): number {
    return this.#drawn - this.used;
  }

  /** Most credits in use lately. */
  get peak(): number {
    return Math.max(this.#peak, this.#formerPeak);
  }

  /** Requests whose charges no fold has taken. */
  get pendingRequests(): number {
    let sum = 0;
    for (const { counts } of this.#charges.values()) sum += counts.requests;
    return sum;
  }

  /** Whether requests like the last ones will soon wait for a draw, or would while the database is away. */
  get isLow(): boolean {
    return this.free < this.peak / 2 + (3 / 4) * this.#minute;
  }

  /** Credits to draw while it is low. */
  get advance(): number {
    return this.peak + Math.ceil(this.#minute / 2);
  }

  get isEmpty(): boolean {
    return this.#drawn === 0 && this.#reserved === 0 && this.#draws === 0 && !this.hasFold;
  }

  get hasFold(): boolean {
    return this.#returning > 0 || this.#charges.size > 0 || this.isUncertain;
  }

  /** Whether a fold has to find out what a draw without an answer has drawn. No draw may begin before. */
  get isUncertain(): boolean {
    return this.#isUncertain && this.#draws === 0;
  }

  /** Adds what a draw gives. A draw that rejects may have been committed. */
  async draw(drawing: Promise<number | Failure>): Promise<number | Failure> {
    this.#draws += 1;
    try {
      const drawn = await drawing;
      if (typeof drawn === 'number') this.#drawn += drawn;
      return drawn;
    } catch (error) {
      this.#isUncertain = true;
      throw error;
    } finally {
      this.#draws -= 1;
    }
  }

  reserve(amount: number): void {
    this.#reserved += amount;
    this.#peak = Math.max(this.#peak, this.used);
  }

  release(amount: number): void {
    this.#reserved -= amount;
  }

  /** Adds the charge of a request, after the release of its reservation. */
  charge({ model, tags = '', counts, amount, at }: Settled): void {
    const name = `${utcDayOf(at)} ${model}\0${tags}`;
    const { paid = 0, amount: sum = 0, counts: former = NO_USAGE } = this.#charges.get(name) ?? {};
    this.#charges.set(name, {
      model,
      tags,
      at,
      amount: sum + amount,
      paid: paid + (amount > 0 ? (counts.requests ?? 1) : 0),
      counts: addCounts(former, counts),
    });
    this.#charged += amount;
    this.#spent += amount;
    this.#peak = Math.max(this.#peak, this.used);
  }

  /** Returns all that no request has reserved with the next fold. */
  returnFree(): void {
    if (this.free > 0) this.#returning += this.free;
  }

  /** Returns what requests like those of late do not need. Called once a second. */
  review(): void {
    this.#minute = Math.floor(this.#minute + (60 * this.#spent - this.#minute) / RATE_SECONDS);
    this.#spent = 0;
    // As much again as is in use, which draws keep ready.
    const needed = 2 * this.peak + this.#minute;
    this.#reviews += 1;
    if (this.#reviews % PEAK_SECONDS === 0) {
      this.#formerPeak = this.#peak;
      this.#peak = this.used;
    }
    const surplus = this.#drawn - this.#returning - needed;
    // Small surpluses stay, so that a steady load folds charges alone.
    if (surplus > needed / 4) this.#returning += Math.min(surplus, this.free);
  }

  /** Takes what the next batch books. The credits count as used until `folded`. */
  takeFold(): Fold {
    const charges = [...this.#charges.values()];
    this.#charges = new Map();
    // Credits that a request has reserved again since stay.
    const returned = Math.max(0, Math.min(this.#returning, this.#drawn - this.used));
    this.#returning = returned;
    const fold = { payer: this.payer, charges, returned, idle: this.idle - returned };
    return this.isUncertain ? { ...fold, held: this.#drawn } : fold;
  }

  /** Applies a fold that is booked. */
  folded({ charges, returned, held }: Fold): void {
    if (held !== undefined) this.#isUncertain = false;
    const charged = charges.reduce((sum, { amount }) => sum + amount, 0);
    this.#drawn -= charged + returned;
    this.#charged -= charged;
    this.#returning -= returned;
  }
}
