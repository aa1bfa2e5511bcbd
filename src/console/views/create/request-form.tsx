import { useEffect, useRef, useState } from 'preact/hooks';
import type { Model } from '../../api/models.ts';
import type { ApiError } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { SelectField, TextArea } from '../../components/field.tsx';
import { formatCredits } from '../../components/format.ts';
import { FromProgram } from '../../components/snippets.tsx';
import { ErrorState } from '../../components/states.tsx';
import type { Draft, Input, Kind } from './draft.ts';
import { FieldControl } from './field-control.tsx';
import { faultsOf, fieldsFor, isEdit, type Situation } from './fields.ts';
import { Inputs, useUploads } from './inputs.tsx';
import { MaskEditor } from './mask-editor.tsx';
import { estimateOf, requestOf } from './request.ts';
import { sdkOf, shownOf } from './sdk.ts';
import { ShapePicker } from './shape-picker.tsx';
import { shapesOf } from './shapes.ts';

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

const EXAMPLES: Readonly<Record<Kind, string>> = {
  image: 'A lighthouse at dusk, seen from the sea',
  video: 'Waves that roll onto a beach in the morning',
  audio: 'Good morning. The harbour is open.',
};

/** Parameters that stand at the images of a request. */
const INPUT_PARAM = /^(image|mask|input_images)/;

export function RequestForm(props: RequestFormProps) {
  const { situation, models, error, isBusy, available, onDraft, onInput, onValues } = props;
  const { kind, model, draft } = situation;
  const { values, inputs } = draft;
  const form = useRef<HTMLFormElement>(null);
  const [isTried, setTried] = useState(false);
  const [isMaskOpen, setMaskOpen] = useState(false);
  const [isMoreOpen, setMoreOpen] = useState(false);
  const uploads = useUploads(onInput);
  const faults = faultsOf(situation);
  const request = requestOf(situation);
  const estimate = estimateOf(model, request.fields);
  const specs = fieldsFor(situation);
  /** What is wrong with a field, by the browser or by the server. */
  const faultOf = (name: string) => {
    if (error?.param === name) return error.message;
    // An empty field is not wrong before the first try.
    return name === 'prompt' && !isTried && values['prompt'] === undefined
      ? undefined
      : faults[name];
  };
  const isMore = (name: string) => specs.some((spec) => spec.isMore && spec.name === name);
  useEffect(() => {
    if (error?.param && isMore(error.param)) setMoreOpen(true);
  }, [error]);
  const isShown =
    error?.param != null &&
    (['model', 'prompt', 'size'].includes(error.param) ||
      INPUT_PARAM.test(error.param) ||
      specs.some(({ name }) => name === error.param));
  useEffect(() => {
    // A button that is disabled while it is busy loses the focus.
    if (!isBusy && isTried && document.activeElement === document.body) {
      form.current!.querySelector<HTMLElement>('[type=submit]')!.focus({ preventScroll: true });
    }
  }, [isBusy]);
  const onKeyDown = (event: KeyboardEvent) => {
    // A key that is held down sends once.
    const isText = event.target instanceof HTMLTextAreaElement;
    if (event.key === 'Enter' && event.repeat && !isText) event.preventDefault();
  };
  const canSend = !isBusy && uploads.names.length === 0;
  const submit = (event: Event) => {
    event.preventDefault();
    setTried(true);
    if (!canSend) return;
    if (Object.keys(faults).length === 0) return props.onSubmit();
    if (Object.keys(faults).some(isMore)) setMoreOpen(true);
    // After the faults are rendered.
    setTimeout(() => form.current!.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
  };
  const control = (spec: (typeof specs)[number]) => (
    <FieldControl
      key={spec.name}
      spec={spec}
      situation={situation}
      error={faultOf(spec.name)}
      onValue={(value) => onValues({ [spec.name]: value })}
    />
  );
  return (
    <>
      <form ref={form} class="card" onSubmit={submit} onKeyDown={onKeyDown} noValidate>
        <SelectField
          label="Model"
          hint={model.description ?? undefined}
          value={model.id}
          choices={models.map(({ id, name }) => [id, name] as const)}
          onValue={(value) => onValues({ model: value })}
          error={faultOf('model')}
        />
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
          error={faultOf('prompt')}
        />
        {kind !== 'audio' && (
          <Inputs
            label={kind === 'image' ? 'Images to start from' : 'First frame'}
            hint={
              kind === 'image'
                ? 'At most 16. They stay on the server as long as results do.'
                : 'The first image is the first frame, where the model supports it.'
            }
            inputs={inputs}
            uploading={uploads.names}
            error={error?.param && INPUT_PARAM.test(error.param) ? error.message : undefined}
            onFiles={uploads.add}
            onChange={(changed) => {
              const isSame = changed.inputs[0]?.url === inputs[0]?.url;
              // A mask belongs to the first image.
              onDraft(isSame ? changed : { ...changed, mask: null });
            }}
          />
        )}
        {kind === 'image' && inputs.length > 0 && (
          <UseOfInputs {...{ situation, onDraft }} onMask={() => setMaskOpen(true)} />
        )}
        {kind !== 'audio' && (
          <ShapePicker
            shapes={shapesOf(kind, model.sizes)}
            value={values['size'] ?? ''}
            onValue={(value) => onValues({ size: value })}
            automatic={isEdit(situation) ? 'As the image' : 'Automatic'}
            isOpen={model.sizes === null}
            error={faultOf('size')}
          />
        )}
        {specs.some(({ isMore }) => !isMore) && (
          <div class="pairs">{specs.filter(({ isMore }) => !isMore).map(control)}</div>
        )}
        <details
          open={isMoreOpen}
          onToggle={({ currentTarget }) => setMoreOpen(currentTarget.open)}
        >
          <summary>More options</summary>
          <div class="pairs">{specs.filter(({ isMore }) => isMore).map(control)}</div>
        </details>
        {error && !isShown && (
          <ErrorState error={error} onRetry={canSend ? props.onSubmit : undefined} />
        )}
        <div class="row send">
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
          <Price credits={estimate} available={available} />
        </div>
        <FromProgram what="This request" request={shownOf(request)} others={sdkOf(request)} />
        <div class="row">
          <Button
            kind="quiet"
            onClick={() => {
              setTried(false);
              props.onReset();
            }}
          >
            Start anew
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

interface PriceProps {
  readonly credits: number | null;
  readonly available: number | undefined;
}

/** What the request costs if all of it succeeds. */
function Price({ credits, available }: PriceProps) {
  if (credits === null) return <span class="hint">The catalog states no price.</span>;
  const left = available === undefined ? '' : ` of ${formatCredits(available)}`;
  return (
    <span class={credits > (available ?? Infinity) ? 'fault' : 'hint'}>
      Costs up to {formatCredits(credits)}
      {left} credits
    </span>
  );
}

interface UseOfInputsProps {
  readonly situation: Situation;
  readonly onDraft: (changed: Partial<Draft>) => void;
  /** Opens the editor of the mask. */
  readonly onMask: () => void;
}

/** Whether images are changed or followed, and where the first of them changes. */
function UseOfInputs({ situation, onDraft, onMask }: UseOfInputsProps) {
  const { draft, model } = situation;
  const { use, mask } = draft;
  const drawn = typeof mask === 'string' || (mask !== null && mask.shapes.length > 0);
  if (!model.endpoints.includes('/v1/images/edits')) return null;
  return (
    <fieldset class="field">
      <legend>What to do with them</legend>
      <label class="checkbox">
        <input
          type="radio"
          name="use"
          checked={use === 'edit'}
          onChange={() => onDraft({ use: 'edit' })}
        />
        <span>Change the first one</span>
      </label>
      <label class="checkbox">
        <input
          type="radio"
          name="use"
          checked={use === 'reference'}
          onChange={() => onDraft({ use: 'reference' })}
        />
        <span>Make a new one that follows them</span>
      </label>
      {use === 'edit' && (
        <div class="row">
          <Button onClick={onMask}>{drawn ? 'Change the mask' : 'Draw a mask'}</Button>
          {drawn ? (
            <Button kind="quiet" onClick={() => onDraft({ mask: null })}>
              Remove the mask
            </Button>
          ) : (
            <span class="hint">to change only a part</span>
          )}
        </div>
      )}
    </fieldset>
  );
}
