import type * as v from 'valibot';
import type { ImageInput } from '../images/input.ts';
import type { OutputImage, Warning } from '../images/output.ts';
import type { ObjectSchema } from '../schema/fields.ts';

export interface OperationResult {
  readonly image?: OutputImage;
  readonly data?: object;
  readonly warnings?: readonly Warning[];
}

/** What a thread can be asked to do. */
export interface ThreadOperation<Options> {
  readonly name: string;
  run(input: ImageInput, options: Options): Promise<OperationResult>;
}

/** One image tool. Its flags, form fields, help and documentation all derive from this record. */
export interface Operation<Schema extends ObjectSchema = ObjectSchema>
  extends ThreadOperation<v.InferOutput<Schema>> {
  readonly summary: string;
  /** `image`: each file gives a file. `data`: each file gives the `data` of the interface's part 2.8. */
  readonly gives: 'image' | 'data';
  readonly options: Schema;
  /** The name of its HTTP endpoint below `/api/free/`; only the command line has one without. */
  readonly endpoint?: string;
  /** Roughly, CPU milliseconds for a megabyte of input: tells whether starting threads will pay. */
  readonly cost: number;
  /** Keys of `data` that are worth a column in a table for people. */
  columns?(options: v.InferOutput<Schema>): readonly string[];
  /** Keys of `data` whose values are listed below a file's row, one a line. */
  details?(options: v.InferOutput<Schema>): readonly string[];
  /**
   * Answers an argument that is no file, such as a size to be mapped; undefined where it is a file
   * after all. Only the command line takes such arguments.
   */
  answer?(argument: string, options: v.InferOutput<Schema>): object | undefined;
  /** Command lines that a test runs in a folder of photographs, without the leading `oriel`. */
  readonly examples: readonly string[];
  /** Options for a first try over HTTP, filled in on the page `/docs`; without it, the defaults. */
  readonly sample?: Readonly<v.InferInput<Schema>>;
}

/** Keeps the options' type between the schema and `run`; the registry holds what comes out. */
export function defineOperation<Schema extends ObjectSchema>(
  operation: Operation<Schema>,
): Operation<Schema> {
  return operation;
}
