import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { getOrInsert } from '../../../../maps.ts';
import type { ScopedPayer } from '../../../budgets.ts';
import {
  diskFiles,
  FILE_MODE,
  type Files,
  makeFolder,
  namesIn,
  remove,
  writeAllSync,
} from '../../../files.ts';
import { encodeLine, readLine } from '../../../line.ts';
import type { Fold, FoldBatch } from './bank.ts';
import { Escrow, type Settled } from './escrow.ts';

/** Bytes after which a file is complete. It is removed once its charges are folded. */
const FILE_BYTES = 1 << 20;

const FILE_NAME = /^(?<node>node_\w+)\.(?<index>\d+)\.log$/;

interface LoggedCharge extends Settled {
  /** Number of the batch that folds it. */
  readonly number: number;
  readonly payer: ScopedPayer;
}

interface LogFile {
  readonly path: string;
  readonly descriptor: number;
  bytes: number;
  /** Largest number of a batch with a charge in the file; 0 for none. */
  lastNumber: number;
}

interface ChargeLogOptions {
  readonly folder: string;
  readonly node: string;
  /** Called with the error of a write; its charges are in memory until they are folded. */
  readonly onFault: (error: unknown) => void;
  readonly files?: Files;
}

/**
 * Charges that are not folded into the database yet, in files of this node: the end of the process loses
 * none. A power cut loses those of the last moments.
 */
export class ChargeLog {
  readonly #options: ChargeLogOptions;
  readonly #files: Files;
  readonly #complete: LogFile[] = [];
  #node: string;
  #index = 0;
  #current: LogFile | null = null;
  #lines: Buffer[] = [];
  #lastNumber = 0;
  #written: Promise<void> | null = null;

  private constructor(options: ChargeLogOptions) {
    this.#options = options;
    this.#node = options.node;
    this.#files = options.files ?? diskFiles;
  }

  static async open(options: ChargeLogOptions): Promise<ChargeLog> {
    await makeFolder(options.files ?? diskFiles, options.folder);
    return new ChargeLog(options);
  }

  /** Resolves when the charge is in the page cache, or could not be written. */
  append(charge: LoggedCharge): Promise<void> {
    this.#lines.push(encodeLine(JSON.stringify(charge)));
    this.#lastNumber = charge.number;
    // All charges of one turn of the event loop are one write.
    this.#written ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#written = null;
        this.#write();
        resolve();
      });
    });
    return this.#written;
  }

  /** Removes what a batch has folded. */
  folded({ node, number }: FoldBatch): void {
    if (node !== this.#node) return;
    while (this.#complete.length > 0 && this.#complete[0]!.lastNumber <= number) {
      this.#remove(this.#complete.shift()!);
    }
    const current = this.#current;
    if (current && this.#lines.length === 0 && current.lastNumber <= number) {
      // Emptied at half the size: while there is always a charge to come, files become complete instead.
      if (current.bytes < FILE_BYTES / 2) return;
      this.#current = null;
      this.#remove(current);
    }
  }

  /** Writes on under a new identifier of the node. */
  restart(node: string): void {
    this.#completeFile();
    this.#node = node;
    this.#index = 0;
  }

  /** Closes the files. @param isFolded whether all charges are in the database, so that no file is needed */
  close(isFolded: boolean): void {
    this.#write();
    this.#completeFile();
    for (const file of this.#complete.splice(0)) {
      if (isFolded) this.#remove(file);
      else closeSync(file.descriptor);
    }
  }

  #write(): void {
    if (this.#lines.length === 0) return;
    const bytes = Buffer.concat(this.#lines);
    this.#lines = [];
    try {
      const file = this.#open();
      writeAllSync(this.#files, file.descriptor, bytes, file.bytes);
      file.bytes += bytes.length;
      file.lastNumber = this.#lastNumber;
      if (file.bytes >= FILE_BYTES) this.#completeFile();
    } catch (error) {
      // A torn line ends what can be read of a file: later charges go to the next one.
      this.#completeFile();
      this.#options.onFault(error);
    }
  }

  #open(): LogFile {
    if (this.#current) return this.#current;
    this.#index += 1;
    const path = join(this.#options.folder, `${this.#node}.${this.#index}.log`);
    const descriptor = openSync(path, 'w', FILE_MODE);
    this.#current = { path, descriptor, bytes: 0, lastNumber: 0 };
    return this.#current;
  }

  #completeFile(): void {
    if (this.#current) this.#complete.push(this.#current);
    this.#current = null;
  }

  #remove({ path, descriptor }: LogFile): void {
    closeSync(descriptor);
    // A file that stays is read at the next start, and its batches change nothing.
    remove(this.#files, path).catch(this.#options.onFault);
  }
}

/** Charges that an earlier process of this folder had not folded, and the files that they are in. */
export interface LeftoverCharges {
  /** In the order of their numbers for each node. */
  readonly batches: readonly FoldBatch[];
  /** Removes the files, once all batches are folded. */
  remove(): Promise<void>;
  /** Keeps the files under names that no start reads. */
  setAside(): Promise<void>;
}

/** Reads the charges of earlier processes. No other process may use the folder. */
export async function readLeftoverCharges(folder: string): Promise<LeftoverCharges> {
  const escrows = new Map<string, Map<number, Map<string, Escrow>>>();
  const paths: string[] = [];
  for (const name of await namesIn(diskFiles, folder)) {
    const node = FILE_NAME.exec(name)?.groups?.node;
    if (node === undefined) continue;
    const path = join(folder, name);
    paths.push(path);
    const batches = getOrInsert(escrows, node, () => new Map());
    for (const { number, payer, ...charge } of linesOf(await diskFiles.readFile(path))) {
      const batch = getOrInsert(batches, number, () => new Map<string, Escrow>());
      getOrInsert(batch, JSON.stringify(payer), () => new Escrow(payer)).charge(charge);
    }
  }
  return {
    batches: [...escrows].flatMap(([node, batches]) =>
      [...batches]
        .sort(([one], [other]) => one - other)
        .map(([number, payers]) => ({ node, number, folds: [...payers.values()].map(foldOf) })),
    ),
    remove: async () => {
      for (const path of paths) await remove(diskFiles, path);
    },
    setAside: async () => {
      for (const path of paths) await diskFiles.rename(path, `${path}.unbooked`);
    },
  };
}

function foldOf(escrow: Escrow): Fold {
  return { ...escrow.takeFold(), returned: 0, idle: 0 };
}

/** The charges up to the first line that a crash left incomplete. */
function* linesOf(bytes: Buffer): Generator<LoggedCharge> {
  for (let at = 0; at < bytes.length; ) {
    const line = readLine(bytes, at);
    if (line === null) return;
    yield JSON.parse(line.payload.toString()) as LoggedCharge;
    at = line.end;
  }
}
