import type { Model } from '../../api/resource.ts';
import { type FormField, faultsOf, pairOf } from '../../components/form-field.ts';
import type { Draft, Kind } from './draft.ts';

/** What decides which fields there are. */
export interface Situation {
  readonly kind: Kind;
  readonly model: Model;
  readonly draft: Draft;
}

type Choice = readonly [value: string, label: string];

/** Whether images can be changed by a model. */
export const canEdit = ({ endpoints }: Model): boolean => endpoints.includes('/v1/images/edits');

/** Whether a draft changes its images rather than making new ones. */
export function isEdit({ kind, model, draft }: Situation): boolean {
  return kind === 'image' && draft.use === 'edit' && draft.inputs.length > 0 && canEdit(model);
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

const choice = (
  name: string,
  label: string,
  choices: readonly Choice[],
  isRare = true,
): FormField => ({ name, label, choices, isRare });

const SEED: FormField = {
  name: 'seed',
  label: 'Seed',
  hint: 'The same seed repeats a result, where the model supports it.',
  kind: 'number',
  min: 0,
  step: 1,
  isRare: true,
};

const SECONDS = { name: 'duration', label: 'Seconds', kind: 'number', min: 1, step: 1 } as const;

/** The fields of images; false for those that the draft cannot have. */
function imageFields(situation: Situation): readonly (FormField | false)[] {
  const { model, draft } = situation;
  const hasOwnSizes = model.sizes === null;
  const most = model.limits['max_images'] ?? 1;
  const numbers = Array.from({ length: most }, (_, index) => String(index + 1));
  const format = draft.values['output_format'];
  return [
    most > 1 && {
      name: 'n',
      label: 'Number of images',
      kind: 'number',
      choices: numbers.map((number) => [number === '1' ? '' : number, number]),
    },
    choice(
      'quality',
      'Quality',
      hasOwnSizes
        ? [OWN, ['standard', 'Standard'], ['hd', 'HD']]
        : choicesOf(AUTOMATIC, 'low', 'medium', 'high'),
      false,
    ),
    choice('output_format', 'File format', formats('png', 'jpeg', 'webp')),
    (format === 'jpeg' || format === 'webp') && {
      name: 'output_compression',
      label: 'Quality of the file',
      hint: '0 for the smallest file, 100 for the best.',
      kind: 'number',
      min: 0,
      max: 100,
      step: 1,
      placeholder: '100',
      isRare: true,
    },
    choice('background', 'Background', choicesOf(AUTOMATIC, 'transparent', 'opaque')),
    hasOwnSizes &&
      !isEdit(situation) &&
      choice('style', 'Style', choicesOf(OWN, 'vivid', 'natural')),
    isEdit(situation) &&
      choice('input_fidelity', 'Closeness to the images', choicesOf(OWN, 'low', 'high')),
    SEED,
  ];
}

const AUDIO_FIELDS: readonly FormField[] = [
  {
    name: 'voice',
    label: 'Voice',
    hint: 'A name that the model knows, such as alloy.',
    input: { maxLength: 64 },
    placeholder: "The model's own",
  },
  choice('format', 'File format', formats('mp3', 'wav', 'opus', 'aac', 'flac', 'pcm'), false),
  { name: 'instructions', label: 'How to speak', kind: 'area', isRare: true },
  {
    name: 'speed',
    label: 'Speed',
    kind: 'number',
    min: 0.25,
    max: 4,
    step: 0.05,
    placeholder: '1',
    isRare: true,
  },
  { ...SECONDS, hint: 'For models that support it.', max: 600, isRare: true },
  SEED,
];

/** The fields that a draft can have. */
export function fieldsFor(situation: Situation): readonly FormField[] {
  if (situation.kind === 'audio') return AUDIO_FIELDS;
  if (situation.kind === 'image') return imageFields(situation).filter((field) => field !== false);
  const usual = situation.model.limits['default_duration'];
  return [{ ...SECONDS, max: 60, placeholder: String(usual ?? '') }, SEED];
}

/** Longest prompt, in characters. */
const MAX_PROMPT = 32_000;

/** Why a draft cannot be sent, by the name of the field. */
export function draftFaults(situation: Situation): Readonly<Record<string, string>> {
  const { values } = situation.draft;
  const prompt = values['prompt'] ?? '';
  const fields = fieldsFor(situation);
  const unknown = fields.filter(({ name, choices }) => {
    const text = values[name]?.trim() ?? '';
    return text !== '' && choices && !choices.some((one) => pairOf(one)[0] === text);
  });
  return {
    ...(prompt.trim() === '' && { prompt: 'Write what to make.' }),
    ...([...prompt].length > MAX_PROMPT && { prompt: 'Use at most 32,000 characters.' }),
    ...faultsOf(fields, values),
    ...Object.fromEntries(
      unknown.map(({ name }) => [name, 'This model does not have it. Choose another.']),
    ),
  };
}
