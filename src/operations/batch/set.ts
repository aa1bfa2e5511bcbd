import type * as v from 'valibot';
import type { ObjectSchema } from '../../schema/fields.ts';
import type { Job, JobImage, JobResult } from '../definition/job.ts';
import type { Operation } from '../definition/operation.ts';
import type { FileRecord } from './batch-record.ts';

/** An operation whose endpoint may make something of all files of a request together. */
export interface SetOperation<Schema extends ObjectSchema = ObjectSchema>
  extends Operation<Schema> {
  readonly set?: SetDefinition<v.InferOutput<Schema>>;
}

export interface SetDefinition<Options> {
  /** The operation that runs over each file. */
  readonly each: string;
  /** Most files of a request. */
  readonly maxFiles?: number;
  /** Whether images are kept for `finish` rather than sent. */
  readonly gathers?: boolean;
  /** Schemas of the properties that `finish` adds to the result. */
  readonly adds: v.ObjectEntries;
  /** @throws Failure invalid_request, before any file is opened */
  check?(options: Options, files: number): void;
  /** @returns properties of the result */
  finish(made: MadeFiles, options: Options): Promise<object>;
}

/** The results of the files of a request. */
export interface MadeFiles {
  readonly results: readonly FileRecord[];
  /** Images that were kept, by the index of their file. */
  readonly images: ReadonlyMap<number, JobImage>;
  /** Runs one more job, without a file. */
  run(job: Pick<Job, 'operation' | 'options'>): Promise<JobResult>;
  /** Add an image, or another file, to the archive. */
  addImage(filename: string, image: JobImage): Promise<string>;
  addFile(name: string, bytes: Uint8Array): Promise<void>;
}

/** A tool that only its endpoint runs as an operation; the command line has a command of its own for it. */
export function defineSet<Schema extends ObjectSchema>(
  record: Omit<SetOperation<Schema>, 'run' | 'examples'>,
): SetOperation<Schema> {
  return { ...record, examples: [], run: () => Promise.reject(new Error('run for each file')) };
}
