import * as v from 'valibot';
import type { Header } from '../../images/decoding/header.ts';
import {
  type EncodingOptions,
  encodingFault,
  encodingFields,
  formatField,
} from '../../images/encoding/options.ts';
import { profileFiles } from '../../images/encoding/profile.ts';
import { OUTPUT_FORMATS, type OutputFormat } from '../../images/formats.ts';
import type { ImageInput } from '../../images/input.ts';
import { type ObjectSchema, rule } from '../../schema/fields.ts';
import { defineOperation, type Operation, type OperationResult } from './operation.ts';
import { runSteps } from './run-steps.ts';
import type { OptionsOf, Step } from './step.ts';

interface StepOperation<Entries extends v.ObjectEntries>
  extends Step<Entries>,
    Pick<Operation, 'cost' | 'examples'> {
  /** Input formats that the command keeps where no format is given; by default all that are written. */
  readonly keeps?: readonly OutputFormat[];
  readonly sample?: Readonly<Record<string, unknown>>;
  /** Options of the command that its step in a recipe does not have. */
  readonly extra?: v.ObjectEntries;
  /** Work of the command that needs no decoded pixels; null where the step has to do it. */
  direct?(
    input: ImageInput,
    options: OptionsOf<Entries> & EncodingOptions,
    format: OutputFormat | undefined,
  ): Promise<OperationResult | null>;
}

type OperationEntries<Entries> = Entries &
  Omit<typeof encodingFields, keyof Entries> & {
    format: v.OptionalSchema<ReturnType<typeof formatField>, undefined>;
  };

/** The operation that applies one step and encodes the result. */
export function stepOperation<const Entries extends v.ObjectEntries>(
  record: StepOperation<Entries>,
) {
  const { keeps = OUTPUT_FORMATS, cost, examples, sample, extra, direct, ...step } = record;
  const all = keeps.length === OUTPUT_FORMATS.length;
  const otherwise = all ? "the input's" : `the input's where it is ${keeps.join(', ')}, else png`;
  const { background, ...own } = step.fields;
  const entries = {
    ...own,
    format: v.optional(formatField(`output format; ${otherwise} by default`)),
    ...encodingFields,
    ...extra,
    ...(background && { background }),
  } as unknown as OperationEntries<Entries>;
  const object = v.strictObject(entries as v.ObjectEntries);
  const check = (given: object) =>
    step.check?.(given as never) ?? encodingFault(given as EncodingOptions);
  const options = v.pipe(object, rule(check)) as unknown as ObjectSchema<
    v.InferOutput<v.StrictObjectSchema<OperationEntries<Entries>, undefined>>
  >;
  const kept = (header: Header) => keeps.find((format) => format === header.format) ?? 'png';
  const operation = defineOperation({
    name: step.name,
    summary: step.summary,
    gives: 'image',
    cost,
    examples,
    keeps,
    options,
    endpoint: `batch-${step.name}-images`,
    ...(sample && { sample: sample as never }),
    images: (given) => [
      ...(step.images?.(given as never) ?? []),
      ...profileFiles(given as EncodingOptions),
    ],
    ...(step.variables && { variables: step.variables as never }),
    async run(input, given) {
      const chosen = given as unknown as EncodingOptions & { readonly format?: OutputFormat };
      const done = await direct?.(input, given as never, chosen.format);
      if (done) return done;
      return runSteps(input, {
        steps: [{ step: step as unknown as Step, options: given as object }],
        format: (header) => chosen.format ?? kept(header),
        encoding: { ...chosen, background: chosen.background ?? 'white' },
      });
    },
  });
  return { ...operation, step: step as unknown as Step };
}
