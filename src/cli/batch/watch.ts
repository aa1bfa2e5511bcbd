import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../../failure.ts';
import { valueOr } from '../../flow.ts';
import type { FileRecord } from '../../operations/batch/batch-record.ts';
import { identityOf, statAt } from '../../operations/cache/file-identity.ts';
import { counted } from '../../words.ts';
import { usageFailure } from '../command/command.ts';
import { type Input, isInside, listedPaths, patternBase } from '../files/inputs.ts';
import type { Report } from '../reports/report.ts';
import { onInterrupt } from '../terminal/exit.ts';
import { printStderr } from '../terminal/terminal.ts';
import type { Choices } from './image-choices.ts';
import { cacheFolder } from './incremental.ts';

/** A file that the options come from. */
interface Recipe {
  readonly path: string;
  /** The choices as the file is now. */
  readonly choose: () => Promise<Choices>;
}

/**
 * Runs an operation, and again after each change of its inputs.
 *
 * @param recipe a file whose changes apply to the next run
 * @throws Failure with code `usage` before any work was done; ends otherwise only by a signal
 */
export async function watchImages(
  files: readonly string[],
  first: Choices,
  run: (choices: Choices, failed: FailedInputs) => Promise<number>,
  recipe: Recipe | undefined,
): Promise<never> {
  let choices = first;
  let failed = new FailedInputs();
  const watcher = new FolderWatcher();
  onInterrupt(async () => watcher.close());
  for (let isFirst = true; ; isFirst = false) {
    // Before the inputs are read, so that no later change is missed.
    const folders = await watcher.set(() => watchedFolders(files, choices, recipe));
    try {
      if (!isFirst && recipe) {
        const next = await recipe.choose();
        // By another recipe, a file that failed may succeed.
        if (!isDeepStrictEqual(next.options, choices.options)) failed = new FailedInputs();
        choices = next;
      }
      await run(choices, failed);
    } catch (error) {
      if (isFirst || !(error instanceof Failure)) throw error;
      printStderr(`oriel: ${error.message}`);
    }
    if (isFirst && !choices.run.quiet) {
      printStderr(`oriel: watching ${counted(folders, 'folder')}; Ctrl-C ends`);
    }
    await watcher.changed();
  }
}

/** Folders of the inputs, of the images that options refer to, and of the recipe. */
async function watchedFolders(
  files: readonly string[],
  choices: Choices,
  recipe: Recipe | undefined,
): Promise<Set<string>> {
  const { inputs, outputs, imagePaths } = choices;
  const folders = await foldersOf(files, inputs, [outputs.out, cacheFolder(choices)]);
  for (const path of imagePaths?.values() ?? []) folders.add(dirname(path));
  if (recipe) folders.add(dirname(resolve(recipe.path)));
  return folders;
}

/** Milliseconds without a change after which a burst of changes has ended. */
const QUIET = 100;
/** Milliseconds after which a burst that does not end is handled. */
const LONGEST_BURST = 2000;

/** Folders that contain the files of the arguments, or may contain them later. */
async function foldersOf(
  files: readonly string[],
  {
    recursive,
    filesFrom,
  }: { readonly recursive: boolean; readonly filesFrom?: string | undefined },
  exclude: readonly (string | undefined)[],
): Promise<Set<string>> {
  const excluded = exclude.filter((folder) => folder !== undefined).map((path) => resolve(path));
  const folders = new Set<string>();
  const addTree = (folder: string) => {
    if (excluded.some((path) => isInside(path, folder)) || folders.has(folder)) return;
    folders.add(folder);
    for (const entry of valueOr(() => readdirSync(folder, { withFileTypes: true }), [])) {
      if (entry.isDirectory() && !entry.name.startsWith('.')) addTree(join(folder, entry.name));
    }
  };
  const listed = filesFrom === undefined ? [] : await listedPaths(filesFrom);
  for (const argument of [...files, ...listed]) {
    const path = resolve(argument);
    const stat = statAt(path);
    const base = patternBase(argument);
    if (stat?.isDirectory() && recursive) addTree(path);
    // A file that an editor replaces by renaming is another inode: its folder reports both.
    else if (base === null || stat) folders.add(dirname(path));
    else addTree(resolve(base));
  }
  if (filesFrom !== undefined) folders.add(dirname(resolve(filesFrom)));
  return folders;
}

/** Watches folders without their subfolders, which a change of the set adds and removes. */
class FolderWatcher {
  readonly #watchers = new Map<string, FSWatcher>();
  #changes = 0;
  #wake = () => {};

  /**
   * Watches the folders that `find` returns, and no others. They are looked for again until none is new: one that
   * is made between the search and the watching of its parent would be missed.
   *
   * @throws Failure where the system refuses
   */
  async set(find: () => Promise<ReadonlySet<string>>): Promise<number> {
    for (;;) {
      const folders = await find();
      for (const folder of this.#watchers.keys()) if (!folders.has(folder)) this.#remove(folder);
      const added = [...folders].filter((folder) => !this.#watchers.has(folder));
      for (const folder of added) this.#add(folder);
      if (!added.some((folder) => this.#watchers.has(folder))) return folders.size;
    }
  }

  /** Resolves after a change since the last call, once the burst to which it belongs has ended. */
  async changed(): Promise<void> {
    if (this.#changes === 0) {
      await new Promise<void>((wake) => {
        this.#wake = wake;
      });
    }
    const started = performance.now();
    let seen: number;
    do {
      seen = this.#changes;
      await delay(QUIET);
    } while (this.#changes !== seen && performance.now() - started < LONGEST_BURST);
    this.#changes = 0;
  }

  close(): void {
    for (const folder of this.#watchers.keys()) this.#remove(folder);
  }

  #add(folder: string): void {
    try {
      const watcher = watch(folder, (_, name) => {
        // Temporary files of Oriel and of editors are hidden, and hidden files are no inputs.
        if (name?.startsWith('.')) return;
        this.#changes += 1;
        this.#wake();
      });
      watcher.on('error', () => this.#remove(folder));
      this.#watchers.set(folder, watcher);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return;
      const advice = code === 'ENOSPC' ? '; raise fs.inotify.max_user_watches' : '';
      throw usageFailure(`--watch: ${folder} cannot be watched: ${message}${advice}`);
    }
  }

  #remove(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }
}

/** Failures that do not depend on the input alone. */
const RETRIED = new Set(['output_exists', 'write_failed', 'timeout', 'worker_crashed']);

/** Inputs that failed, so that they are tried again only after a change. */
export class FailedInputs {
  readonly #failed = new Map<string, string>();
  /** Identities of the inputs of this run before it began. */
  #identities = new Map<string, string>();

  /** The inputs without those that failed and have not changed since. */
  without(inputs: readonly Input[]): Input[] {
    const problems = inputs.map(
      ({ filename, problem }) => [filename, problem?.code ?? ''] as const,
    );
    this.#identities = new Map(
      problems.map(([filename, problem]) => [filename, identityAt(filename) ?? problem]),
    );
    for (const [filename, identity] of this.#failed) {
      if (this.#identities.get(filename) !== identity) this.#failed.delete(filename);
    }
    return inputs.filter(({ filename }) => !this.#failed.has(filename));
  }

  /** A report that notes failures, and leaves out unchanged files. */
  watch(report: Report): Report {
    const isUnchanged = ({ reason }: FileRecord) => reason?.code === 'unchanged';
    const { finished } = report;
    return {
      ...report,
      ...(finished && {
        finished(record) {
          if (!isUnchanged(record)) finished(record);
        },
      }),
      add: async (record) => {
        const { inputFilename, error } = record;
        const identity = this.#identities.get(inputFilename);
        if (error && identity !== undefined && !RETRIED.has(error.code)) {
          this.#failed.set(inputFilename, identity);
        }
        if (!isUnchanged(record)) await report.add(record);
      },
    };
  }
}

function identityAt(path: string): string | undefined {
  const stat = statAt(path);
  return stat && identityOf(stat);
}
