import { rethrowAfter } from '../../../../flow.ts';
import type { Place } from '../files/place.ts';
import { Journal } from './journal.ts';
import type { Extent, JournalContent, JournalFile } from './journal-file.ts';
import { type Manifest, writeManifest } from './manifest.ts';

interface JournalsOptions {
  readonly place: Place;
  readonly manifest: Manifest;
  readonly now: () => number;
}

/** The current journal, and the manifest that names it. */
export class Journals {
  readonly #options: JournalsOptions;
  #manifest: Manifest;
  #current: Journal | null = null;

  constructor(options: JournalsOptions) {
    this.#options = options;
    this.#manifest = options.manifest;
  }

  /** Continues a journal that was read and whose tail was removed. */
  async resume(journal: JournalFile, content: Omit<JournalContent, 'changes'>): Promise<Journal> {
    this.#current = await Journal.resume(this.#options.place.files, journal, content);
    await this.writeExtent();
    return this.#current;
  }

  /**
   * Starts the journal after another. If this fails, the other one can still be used.
   *
   * @param before null for the first
   */
  async next(before: Pick<Journal, 'sequence' | 'extent'> | null): Promise<Journal> {
    return this.#begin((before?.sequence ?? 0) + 1, before?.extent ?? null, null);
  }

  /**
   * Starts the journal after a failed one, of which only the synced part is valid.
   *
   * @param first batch to write with the header
   */
  async replaceFailed(failed: Journal, first: string | null): Promise<Journal> {
    return this.#begin(failed.sequence + 1, { ...failed.extent, isFinal: true }, first);
  }

  async #begin(sequence: number, previous: Extent | null, first: string | null): Promise<Journal> {
    const { files, journals } = this.#options.place;
    // Another folder may have been put in the place of this store's: nothing must be written there.
    this.#current?.checkPlace();
    const identity = { store: this.#manifest.store, previous };
    const journal = await Journal.create(files, journals, sequence, identity, first);
    await this.#write(journal).catch(rethrowAfter(() => journal.close()));
    this.#current = journal;
    return journal;
  }

  /** Writes the extent of the current journal to the manifest. Damage within it is then not taken for a torn write. */
  async writeExtent(): Promise<void> {
    const { length, checksum, isFinal } = this.#current!.extent;
    const { journal } = this.#manifest;
    const isSame =
      journal.sequence === this.#current!.sequence &&
      journal.length === length &&
      journal.checksum === checksum &&
      journal.isFinal === isFinal;
    if (isSame) return;
    this.#current!.checkPlace();
    await this.#write(this.#current!);
  }

  async #write({ sequence, extent }: Journal): Promise<void> {
    const { place, now } = this.#options;
    const { clock } = this.#manifest;
    const manifest = {
      ...this.#manifest,
      journal: { sequence, ...extent },
      clock: clock.isHeld ? clock : { at: now(), isHeld: false },
    };
    await writeManifest(place, manifest);
    this.#manifest = manifest;
  }
}
