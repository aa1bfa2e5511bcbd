import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Form, SelectField, TextArea } from '../../components/field.tsx';
import { FormFields, focusFault } from '../../components/form-fields.tsx';
import { formatCredits } from '../../components/format.ts';
import { FromProgram } from '../../components/snippets.tsx';
import { ErrorState } from '../../components/states.tsx';
import type { Kind } from './draft.ts';
import { draftFaults, fieldsFor } from './fields.ts';
import { StartImages, useUploads } from './inputs.tsx';
import { MaskEditor } from './mask-editor.tsx';
import { estimateOf, requestOf, sdkOf, shownOf } from './request.ts';
import { ShapePicker } from './shape-picker.tsx';
import type { Studio } from './studio.ts';

interface StudioPartProps {
  readonly studio: Studio;
}

/** The request of a draft: its fields, its price and the button that sends it. */
export function RequestForm({ studio }: StudioPartProps) {
  const { kind, models, model, draft, isBusy, change, fill } = studio;
  const form = useRef<HTMLFormElement>(null);
  const [isMaskOpen, setMaskOpen] = useState(false);
  const uploads = useUploads(studio.addInput);
  const faults = useFormFaults(form, studio);
  const canSend = !isBusy && uploads.names.length === 0;
  const onKeyDown = (event: KeyboardEvent) => {
    // A key that is held down sends once.
    const isText = event.target instanceof HTMLTextAreaElement;
    if (event.key === 'Enter' && event.repeat && !isText) event.preventDefault();
  };
  const send = () => studio.submit(draft);
  const submit = () => canSend && faults.check() && send();
  return (
    <>
      <Form ref={form} class="card" onSubmit={submit} onKeyDown={onKeyDown} noValidate>
        <SelectField
          label="Model"
          hint={model.description ?? undefined}
          value={model.id}
          choices={models.map(({ id, name }) => [id, name] as const)}
          onValue={(value) => fill({ model: value })}
          error={faults.faultOf('model')}
        />
        <Prompt {...{ studio, faults }} />
        {kind !== 'audio' && (
          <>
            <StartImages
              {...{ studio, uploads }}
              error={faults.inputFault}
              onMask={() => setMaskOpen(true)}
            />
            <ShapePicker studio={studio} error={faults.faultOf('size')} />
          </>
        )}
        <FormFields
          class="columns pairs"
          more="More options"
          fields={fieldsFor(studio)}
          values={draft.values}
          errorOf={faults.faultOf}
          onValues={fill}
        />
        {faults.error && <ErrorState error={faults.error} onRetry={canSend ? send : undefined} />}
        <Send {...{ studio, canSend }} />
        <div class="row">
          <Button
            kind="quiet"
            onClick={() => {
              faults.reset();
              studio.reset();
            }}
          >
            Start over
          </Button>
          {studio.replaced && (
            <Button kind="quiet" onClick={studio.bringBack}>
              Bring back the last draft
            </Button>
          )}
        </div>
      </Form>
      {/* Not in the form, because it has one of its own. */}
      {isMaskOpen && draft.inputs.length > 0 && (
        <MaskEditor
          image={draft.inputs[0]!}
          mask={typeof draft.mask === 'string' ? null : draft.mask}
          onMask={(mask) => change({ mask })}
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

interface FormPartProps extends StudioPartProps {
  readonly faults: FormFaults;
}

function Prompt({ studio: { kind, draft, fill }, faults }: FormPartProps) {
  return (
    <TextArea
      label={kind === 'audio' ? 'Text or description' : 'Prompt'}
      hint="Ctrl+Enter sends it."
      rows={5}
      dir="auto"
      placeholder={EXAMPLES[kind]}
      value={draft.values['prompt'] ?? ''}
      onValue={(prompt) => fill({ prompt })}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
        event.preventDefault();
        event.currentTarget.form!.requestSubmit();
      }}
      error={faults.faultOf('prompt')}
    />
  );
}

interface SendProps extends StudioPartProps {
  readonly canSend: boolean;
}

/** The button, the price, and the same request from a program. */
function Send({ studio, canSend }: SendProps) {
  const request = requestOf(studio);
  return (
    <>
      <div class="row nowrap action-bar">
        <Button
          kind="primary"
          type="submit"
          isBusy={studio.isBusy}
          disabled={!canSend}
          // The second click of a double click.
          onClick={(event) => event.detail > 1 && event.preventDefault()}
        >
          Create
        </Button>
        <Price credits={estimateOf(studio.model, request.fields)} available={studio.available} />
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

/** Fields of the form that no declaration has. */
const FIXED = ['model', 'prompt', 'size'];

/** Parameters of the API that errors about the images to start from state. */
const INPUT_PARAM = /^(image|mask|input_images)/;

type FormFaults = ReturnType<typeof useFormFaults>;

/** The faults of a draft, and where the form shows them. */
function useFormFaults(form: RefObject<HTMLFormElement | null>, studio: Studio) {
  const { draft, error, isBusy } = studio;
  const [isTried, setTried] = useState(false);
  const faults = draftFaults(studio);
  const specs = fieldsFor(studio);
  const param = error?.param ?? null;
  useEffect(() => {
    // A button that is disabled while it is busy loses the focus.
    if (!isBusy && isTried && document.activeElement === document.body) {
      form.current!.querySelector<HTMLElement>('[type=submit]')!.focus({ preventScroll: true });
    }
  }, [isBusy]);
  const isOfInputs = param !== null && INPUT_PARAM.test(param);
  const isShown =
    isOfInputs || [...FIXED, ...specs.map(({ name }) => name)].some((name) => name === param);
  return {
    /** What is wrong with a field, by the browser or by the server. */
    faultOf: (name: string) => {
      if (param === name) return error!.message;
      // An empty field is not wrong before the first try.
      const isUntouched = name === 'prompt' && draft.values['prompt'] === undefined;
      return isUntouched && !isTried ? undefined : faults[name];
    },
    /** What the server refused about the images to start from. */
    inputFault: isOfInputs ? error!.message : undefined,
    /** The server's error, unless it stands at a field. */
    error: isShown ? undefined : error,
    /** Shows all faults and moves the focus to the first. @returns whether there are none */
    check: () => {
      setTried(true);
      if (Object.keys(faults).length === 0) return true;
      focusFault(form.current!);
      return false;
    },
    /** Forgets that the form was sent, so that empty fields are no faults. */
    reset: () => setTried(false),
  };
}
