import type * as v from 'valibot';
import type { FileFormat } from '../../images/formats.ts';
import type { ImageInput, TextVariables } from '../../images/input.ts';
import type { OutputImage, Warning } from '../../images/output.ts';
import type { ObjectSchema } from '../../schema/fields.ts';
import type { TextJobs } from '../../threads/text-threads.ts';

/** The output of an operation, or none. */
export interface SomeImages<Image> {
  readonly image?: Image;
  /** In place of `image`, all outputs of an operation that gives several for one input. */
  readonly images?: readonly Image[];
}

export function imagesOf<Image>({ image, images }: SomeImages<Image>): readonly Image[] {
  return images ?? (image ? [image] : []);
}

export interface OperationResult extends SomeImages<OutputImage> {
  readonly data?: object;
  /** Whether `data` is a plan, and nothing was made. */
  readonly planned?: boolean;
  readonly warnings?: readonly Warning[];
}

/** An operation that a worker runs over one file. */
export interface ThreadOperation<Options> {
  readonly name: string;
  run(input: ImageInput, options: Options): Promise<OperationResult>;
}

export type Variable = keyof TextVariables;

export interface PrepareContext {
  readonly origin?: string | undefined;
  readonly planOnly?: boolean;
  /** Parses documents of clients, so that the event loop does not wait for them. */
  readonly threads?: TextJobs;
}

/** One image tool. Its flags, form fields, help and documentation all derive from this record. */
export interface Operation<Schema extends ObjectSchema = ObjectSchema>
  extends ThreadOperation<v.InferOutput<Schema>> {
  readonly summary: string;
  /** Result of each file: an image, or the `data` of a report. */
  readonly gives: 'image' | 'data';
  /** Whether it gives several images for one input, which it names itself. */
  readonly several?: boolean;
  /** An option that is a text: the command line takes a file with it, or one of some names, as first argument. */
  readonly document?: {
    readonly option: string;
    readonly description: string;
    readonly names: readonly string[];
  };
  readonly options: Schema;
  /** An operation that the command runs instead where one of its options is given. */
  readonly edit?: Operation;
  /** Names of further images that job options refer to: paths, or in a form the names of its files. */
  images?(options: unknown): readonly string[];
  /** Properties of inputs beside their bytes on which results depend. */
  variables?(options: unknown): readonly Variable[];
  /** Input formats that an output has too where none is asked for; others become PNG. */
  readonly keeps?: readonly FileFormat[];
  /** The name of its HTTP endpoint below `/api/free/`. */
  readonly endpoint: string;
  /**
   * CPU milliseconds for a megabyte of input, roughly, from the job's options: decides whether starting
   * threads pays.
   */
  readonly cost: number | ((options: never) => number);
  /**
   * Job options from the checked ones, which they are by default.
   *
   * @param context.origin name of a text option's source in messages
   * @param context.planOnly whether a dry run wants the plan of each file
   * @throws Failure invalid_request
   */
  prepare?(options: v.InferOutput<Schema>, context?: PrepareContext): Promise<unknown>;
  /** Keys of `data` or of `row` that are columns of the table; `fileSize` is that of the input. */
  columns?(options: v.InferOutput<Schema>): readonly string[];
  /** Values of columns that are not those of `data` as they are. */
  row?(data: object): Readonly<Record<string, unknown>>;
  /** The SHA-256 in `data`, for lines that `sha256sum` reads. */
  checksum?(data: object): string;
  /** Keys of `data` whose values are listed in lines below a file's row. */
  details?(options: v.InferOutput<Schema>): readonly string[];
  /**
   * The result for an argument that is no file, such as a size to map; undefined where the argument
   * may be a file. Only the command line has such arguments.
   */
  answer?(argument: string, options: v.InferOutput<Schema>): object | undefined;
  /** Command lines without the leading `oriel`, which a test runs in a folder of photographs. */
  readonly examples: readonly string[];
  /** Example options on the console's page of the API; by default those of the schema. */
  readonly sample?: Readonly<v.InferInput<Schema>>;
}

/** Infers the type of the options between schema and `run`, which the registry's type leaves out. */
export function defineOperation<Schema extends ObjectSchema>(
  operation: Operation<Schema>,
): Operation<Schema> {
  return operation;
}
