import { useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../api/request.ts';
import type { Model } from '../../api/resource.ts';
import { Button } from '../../components/button.tsx';
import { SelectField, TextArea, TextField } from '../../components/field.tsx';
import { formatCredits } from '../../components/format.ts';
import { FromProgram } from '../../components/snippets.tsx';
import { ErrorState } from '../../components/states.tsx';
import type { Draft, Input, Kind } from './draft.ts';
import { type FieldSpec, fieldsFor, isEdit, type Situation } from './fields.ts';
import { type FormFaults, useFormFaults } from './form-faults.ts';
import { useUploads } from './inputs.tsx';
import { MaskEditor } from './mask-editor.tsx';
import { estimateOf, requestOf } from './request.ts';
import { sdkOf, shownOf } from './sdk.ts';
import { ShapePicker } from './shape-picker.tsx';
import { shapesOf } from './shapes.ts';
import { StartImages } from './start-images.tsx';

interface RequestFormProps {
  readonly situation: Situation;
  readonly models: readonly Model[];
  readonly error: ApiError | undefined;
  readonly isBusy: boolean;
  /** Credits of the account; undefined until they are known. */
  readonly available: number | undefined;
  readonly onDraft: (changed: Partial<Draft>) => void;
  /** Called after an upload, in whose time the draft may have changed. */
  readonly onInput: (input: Input) => void;
  readonly onValues: (values: Readonly<Record<string, string>>) => void;
  readonly onSubmit: () => void;
  readonly onReset: () => void;
  /** Undefined where the draft has replaced none. */
  readonly onBringBack: (() => void) | undefined;
}

/** The request of a draft: its fields, its price and the button that sends it. */
export function RequestForm(props: RequestFormProps) {
  const { situation, models, error, isBusy, onDraft, onValues, onSubmit } = props;
  const { kind, model, draft } = situation;
  const { values, inputs } = draft;
  const form = useRef<HTMLFormElement>(null);
  const [isMaskOpen, setMaskOpen] = useState(false);
  const uploads = useUploads(props.onInput);
  const faults = useFormFaults(form, situation, error, isBusy);
  const canSend = !isBusy && uploads.names.length === 0;
  const onKeyDown = (event: KeyboardEvent) => {
    // A key that is held down sends once.
    const isText = event.target instanceof HTMLTextAreaElement;
    if (event.key === 'Enter' && event.repeat && !isText) event.preventDefault();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (canSend && faults.check()) onSubmit();
  };
  return (
    <>
      <form ref={form} class="card" onSubmit={submit} onKeyDown={onKeyDown} noValidate>
        <SelectField
          label="Model"
          hint={model.description ?? undefined}
          value={model.id}
          choices={models.map(({ id, name }) => [id, name] as const)}
          onValue={(value) => onValues({ model: value })}
          error={faults.faultOf('model')}
        />
        <Prompt kind={kind} {...{ values, faults, onValues }} />
        {kind !== 'audio' && (
          <>
            <StartImages
              {...{ situation, uploads, onDraft }}
              error={faults.inputFault}
              onMask={() => setMaskOpen(true)}
            />
            <ShapePicker
              shapes={shapesOf(kind, model.sizes)}
              value={values['size'] ?? ''}
              onValue={(value) => onValues({ size: value })}
              automatic={isEdit(situation) ? 'As the image' : 'Automatic'}
              isOpen={model.sizes === null}
              error={faults.faultOf('size')}
            />
          </>
        )}
        <Options {...{ situation, faults, onValues }} />
        {faults.error && (
          <ErrorState error={faults.error} onRetry={canSend ? onSubmit : undefined} />
        )}
        <Send {...props} canSend={canSend} />
        <div class="row">
          <Button
            kind="quiet"
            onClick={() => {
              faults.reset();
              props.onReset();
            }}
          >
            Start over
          </Button>
          {props.onBringBack && (
            <Button kind="quiet" onClick={props.onBringBack}>
              Bring back the last draft
            </Button>
          )}
        </div>
      </form>
      {/* Not in the form, because it has one of its own. */}
      {isMaskOpen && inputs.length > 0 && (
        <MaskEditor
          image={inputs[0]!}
          mask={typeof draft.mask === 'string' ? null : draft.mask}
          onMask={(mask) => onDraft({ mask })}
          onClose={() => setMaskOpen(false)}
        />
      )}
    </>
  );
}

const EXAMPLES: Readonly<Record<Kind, string>> = {
  image: 'A lighthouse at dusk, seen from the sea',
  video: 'Waves that roll onto a beach in the morning',
  audio: 'Good morning. The harbour is open.',
};

interface PromptProps extends Pick<RequestFormProps, 'onValues'> {
  readonly kind: Kind;
  readonly values: Draft['values'];
  readonly faults: FormFaults;
}

function Prompt({ kind, values, faults, onValues }: PromptProps) {
  return (
    <TextArea
      label={kind === 'audio' ? 'Text or description' : 'Prompt'}
      hint="Ctrl+Enter sends it."
      rows={5}
      dir="auto"
      placeholder={EXAMPLES[kind]}
      value={values['prompt'] ?? ''}
      onValue={(value) => onValues({ prompt: value })}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
        event.preventDefault();
        event.currentTarget.form!.requestSubmit();
      }}
      error={faults.faultOf('prompt')}
    />
  );
}

type OptionsProps = Pick<RequestFormProps, 'situation' | 'onValues'> & Pick<PromptProps, 'faults'>;

/** The fields that the model and the draft have, the rarer ones folded away. */
function Options({ situation, faults, onValues }: OptionsProps) {
  const { faultOf, isMoreOpen, setMoreOpen } = faults;
  const specs = fieldsFor(situation);
  const control = (spec: FieldSpec) => (
    <FieldControl
      key={spec.name}
      spec={spec}
      situation={situation}
      error={faultOf(spec.name)}
      onValue={(value) => onValues({ [spec.name]: value })}
    />
  );
  const main = specs.filter(({ isMore }) => !isMore);
  return (
    <>
      {main.length > 0 && <div class="pairs">{main.map(control)}</div>}
      <details open={isMoreOpen} onToggle={({ currentTarget }) => setMoreOpen(currentTarget.open)}>
        <summary>More options</summary>
        <div class="pairs">{specs.filter(({ isMore }) => isMore).map(control)}</div>
      </details>
    </>
  );
}

interface SendProps extends Pick<RequestFormProps, 'situation' | 'isBusy' | 'available'> {
  readonly canSend: boolean;
}

/** The button, the price, and the same request from a program. */
function Send({ situation, isBusy, available, canSend }: SendProps) {
  const request = requestOf(situation);
  return (
    <>
      <div class="row action-bar">
        <Button
          kind="primary"
          type="submit"
          isBusy={isBusy}
          disabled={!canSend}
          // The second click of a double click.
          onClick={(event) => event.detail > 1 && event.preventDefault()}
        >
          Create
        </Button>
        <Price credits={estimateOf(situation.model, request.fields)} available={available} />
      </div>
      <FromProgram what="This request" request={shownOf(request)} others={sdkOf(request)} />
    </>
  );
}

interface PriceProps {
  readonly credits: number | null;
  readonly available: number | undefined;
}

/** What the request costs if all of it succeeds. */
function Price({ credits, available }: PriceProps) {
  if (credits === null) return <span class="hint">This model has no price.</span>;
  const left = available === undefined ? '' : ` of ${formatCredits(available)}`;
  return (
    <span class={credits > (available ?? Infinity) ? 'fault' : 'hint'}>
      Costs up to {formatCredits(credits)}
      {left} credits
    </span>
  );
}

interface FieldControlProps {
  readonly spec: FieldSpec;
  readonly situation: Situation;
  readonly error: string | undefined;
  readonly onValue: (value: string) => void;
}

/** A field of a request, as its declaration says. */
function FieldControl({ spec, situation, error, onValue }: FieldControlProps) {
  const { label, hint, type, choices, min, max, step, placeholder } = spec;
  const value = situation.draft.values[spec.name] ?? '';
  const common = { label, hint, error, value, onValue };
  if (choices) {
    const known = choices(situation);
    // What another model had stays visible, with its fault.
    const all = known.some(([one]) => one === value) ? known : [...known, [value, value] as const];
    return <SelectField {...common} choices={all} />;
  }
  const shown = placeholder?.(situation.model);
  if (type === 'area') return <TextArea {...common} rows={2} dir="auto" maxLength={4096} />;
  if (type === 'number') {
    return (
      <TextField
        {...common}
        type="number"
        inputMode="decimal"
        {...{ min, max, step, placeholder: shown }}
      />
    );
  }
  return <TextField {...common} maxLength={64} placeholder={shown} />;
}
