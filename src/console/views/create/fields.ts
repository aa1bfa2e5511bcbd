import type { Model } from '../../api/resource.ts';
import type { Draft, Kind } from './draft.ts';

/** What decides which fields there are. */
export interface Situation {
  readonly kind: Kind;
  readonly model: Model;
  readonly draft: Draft;
}

type Choice = readonly [value: string, label: string];

/** A field of a request beside model, prompt, size and inputs. */
export interface FieldSpec {
  /** Name in the API, which errors of the server state too. */
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly type: 'choice' | 'number' | 'text' | 'area';
  readonly choices?: (situation: Situation) => readonly Choice[];
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  readonly placeholder?: (model: Model) => string;
  /** Whether it stands among those that are folded away. */
  readonly isMore?: boolean;
  readonly applies?: (situation: Situation) => boolean;
}

/** Whether a draft changes its images rather than making new ones. */
export function isEdit({ kind, model, draft }: Situation): boolean {
  return (
    kind === 'image' &&
    draft.use === 'edit' &&
    draft.inputs.length > 0 &&
    model.endpoints.includes('/v1/images/edits')
  );
}

const AUTOMATIC: Choice = ['', 'Automatic'];
const OWN: Choice = ['', "The model's own"];

const choicesOf = (first: Choice, ...values: readonly string[]): readonly Choice[] => [
  first,
  ...values.map((value) => [value, value.charAt(0).toUpperCase() + value.slice(1)] as const),
];

const formats = (...values: readonly string[]): readonly Choice[] => [
  OWN,
  ...values.map((value) => [value, value.toUpperCase()] as const),
];

const maxImages = ({ limits }: Model) => limits['max_images'] ?? 1;

const SEED: FieldSpec = {
  name: 'seed',
  label: 'Seed',
  hint: 'The same seed repeats a result, where the model supports it.',
  type: 'number',
  min: 0,
  step: 1,
  isMore: true,
};

const FIELDS: Readonly<Record<Kind, readonly FieldSpec[]>> = {
  image: [
    {
      name: 'n',
      label: 'Number of images',
      type: 'number',
      choices: ({ model }) =>
        Array.from({ length: maxImages(model) }, (_, index) => [
          index === 0 ? '' : String(index + 1),
          String(index + 1),
        ]),
      applies: ({ model }) => maxImages(model) > 1,
    },
    {
      name: 'quality',
      label: 'Quality',
      type: 'choice',
      choices: ({ model }) =>
        model.sizes === null
          ? [OWN, ['standard', 'Standard'], ['hd', 'HD']]
          : choicesOf(AUTOMATIC, 'low', 'medium', 'high'),
    },
    {
      name: 'output_format',
      label: 'File format',
      type: 'choice',
      choices: () => formats('png', 'jpeg', 'webp'),
      isMore: true,
    },
    {
      name: 'output_compression',
      label: 'Quality of the file',
      hint: '0 for the smallest file, 100 for the best.',
      type: 'number',
      min: 0,
      max: 100,
      step: 1,
      placeholder: () => '100',
      isMore: true,
      applies: ({ draft: { values } }) =>
        values['output_format'] === 'jpeg' || values['output_format'] === 'webp',
    },
    {
      name: 'background',
      label: 'Background',
      type: 'choice',
      choices: () => choicesOf(AUTOMATIC, 'transparent', 'opaque'),
      isMore: true,
    },
    {
      name: 'style',
      label: 'Style',
      type: 'choice',
      choices: () => choicesOf(OWN, 'vivid', 'natural'),
      isMore: true,
      applies: (situation) => situation.model.sizes === null && !isEdit(situation),
    },
    {
      name: 'input_fidelity',
      label: 'Closeness to the images',
      type: 'choice',
      choices: () => choicesOf(OWN, 'low', 'high'),
      isMore: true,
      applies: isEdit,
    },
    SEED,
  ],
  video: [
    {
      name: 'duration',
      label: 'Seconds',
      type: 'number',
      min: 1,
      max: 60,
      step: 1,
      placeholder: ({ limits }) => String(limits['default_duration'] ?? ''),
    },
    SEED,
  ],
  audio: [
    {
      name: 'voice',
      label: 'Voice',
      hint: 'A name that the model knows, such as alloy.',
      type: 'text',
      placeholder: () => "The model's own",
    },
    {
      name: 'format',
      label: 'File format',
      type: 'choice',
      choices: () => formats('mp3', 'wav', 'opus', 'aac', 'flac', 'pcm'),
    },
    {
      name: 'instructions',
      label: 'How to speak',
      type: 'area',
      isMore: true,
    },
    {
      name: 'speed',
      label: 'Speed',
      type: 'number',
      min: 0.25,
      max: 4,
      step: 0.05,
      placeholder: () => '1',
      isMore: true,
    },
    {
      name: 'duration',
      label: 'Seconds',
      hint: 'For models that support it.',
      type: 'number',
      min: 1,
      max: 600,
      step: 1,
      isMore: true,
    },
    SEED,
  ],
};

/** The fields that a draft can have. */
export function fieldsFor(situation: Situation): readonly FieldSpec[] {
  return FIELDS[situation.kind].filter(({ applies }) => applies?.(situation) ?? true);
}

/** Longest prompt, in characters. */
const MAX_PROMPT = 32_000;

/** Why a draft cannot be sent, by the name of the field. */
export function faultsOf(situation: Situation): Readonly<Record<string, string>> {
  const faults: Record<string, string> = {};
  const { values } = situation.draft;
  const prompt = values['prompt'] ?? '';
  if (prompt.trim() === '') faults['prompt'] = 'Write what to make.';
  if ([...prompt].length > MAX_PROMPT) faults['prompt'] = 'Use at most 32,000 characters.';
  for (const { name, type, min = -Infinity, max = Infinity, step, choices } of fieldsFor(
    situation,
  )) {
    const text = values[name]?.trim() ?? '';
    if (text === '') continue;
    const number = Number(text);
    const isWhole = step !== 1 || Number.isSafeInteger(number);
    if (type === 'number' && !(number >= min && number <= max && isWhole)) {
      const range = max === Infinity ? `from ${min}` : `from ${min} to ${max}`;
      faults[name] = `Use a ${step === 1 ? 'whole ' : ''}number ${range}.`;
    }
    if (choices && !choices(situation).some(([value]) => value === text)) {
      faults[name] = 'This model does not have it. Choose another.';
    }
  }
  return faults;
}
