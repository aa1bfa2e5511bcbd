import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { Button } from './button.tsx';
import {
  Checkbox,
  Fault,
  Field,
  reporting,
  SelectField,
  TextArea,
  TextField,
  type TextFieldProps,
} from './field.tsx';
import { visible } from './files.ts';
import { type FormField, pairOf } from './form-field.ts';
import { LateField } from './list.tsx';

interface FieldControlProps {
  readonly field: FormField;
  readonly value: string;
  readonly files: readonly File[];
  readonly error: string | undefined;
  readonly onValue: (value: string) => void;
  readonly onFiles: (files: readonly File[]) => void;
}

/** The control of a field, as its declaration says. */
export function FieldControl(props: FieldControlProps) {
  const { field, value, error, onValue } = props;
  const { label, hint, kind, choices, min, max, step, isRequired = false } = field;
  const common = { label, hint, value, error, onValue };
  const input = { placeholder: field.placeholder, required: isRequired, ...field.input };
  if (choices) {
    // A value that is no longer a choice stays visible.
    const isKnown = value === '' || choices.some((one) => pairOf(one)[0] === value);
    return <SelectField {...common} choices={isKnown ? choices : [...choices, value]} />;
  }
  switch (kind) {
    case 'file':
    case 'files':
      return <FileControl {...props} />;
    case 'switch':
      return <Switch {...props} />;
    case 'document':
      return <DocumentControl {...props} />;
    case 'slider':
      return <PairedText {...common} {...input} picker={<Slider {...props} />} />;
    case 'colour':
      return <PairedText {...common} {...input} picker={<ColourPicker {...props} />} />;
    case 'list':
      return <TextArea {...common} rows={2} spellcheck={false} />;
    case 'area':
      return <TextArea {...common} rows={2} dir="auto" maxLength={4096} />;
    case 'late':
      return <LateField {...common} placeholder={field.placeholder} />;
    case 'number':
      return (
        <TextField
          {...common}
          {...{ min, max, step }}
          {...input}
          type="number"
          inputMode="decimal"
        />
      );
    default:
      return <TextField autocomplete="off" {...common} {...input} />;
  }
}

interface PairedTextProps extends TextFieldProps {
  readonly picker: ComponentChildren;
}

/** A text beside a control of the browser that sets it. */
function PairedText({ label, hint, error, onValue, picker, ...rest }: PairedTextProps) {
  return (
    <Field {...{ label, hint, error }}>
      {(attributes) => (
        <span class="row nowrap paired">
          {picker}
          <input
            type="text"
            autocomplete="off"
            {...(rest as InputHTMLAttributes<HTMLInputElement>)}
            {...attributes}
            onInput={reporting(onValue)}
          />
        </span>
      )}
    </Field>
  );
}

function Slider({ field: { label, slider }, value, onValue }: FieldControlProps) {
  if (!slider) return null;
  const { rest, ...limits } = slider;
  return (
    <input
      type="range"
      aria-label={`${label}, slider`}
      {...limits}
      value={Number(value) || (value === '' ? rest : 0)}
      onInput={reporting(onValue)}
    />
  );
}

function ColourPicker({ field: { label }, value, onValue }: FieldControlProps) {
  return (
    <input
      type="color"
      aria-label={`${label}, picker`}
      value={/^#[0-9a-f]{6}/i.exec(value)?.[0] ?? '#ffffff'}
      onInput={reporting(onValue)}
    />
  );
}

function Switch({ field: { label, hint, byDefault }, value, error, onValue }: FieldControlProps) {
  const change = (checked: boolean) => onValue(checked === byDefault ? '' : String(checked));
  const checkbox = (text: ComponentChildren) => (
    <Checkbox label={text} checked={(value || String(byDefault)) === 'true'} onChecked={change} />
  );
  if (!hint) return checkbox(label);
  return (
    <div class="switch">
      {checkbox(
        <>
          {label} <span class="hint">{hint}</span>
        </>,
      )}
      <Fault text={error} />
    </div>
  );
}

/** Value of the choice to write the document. */
const OWN = '(own)';

/** A document: one of the presets by its name, or a text of the reader. */
function DocumentControl({ field, value, error, onValue }: FieldControlProps) {
  const { label, hint, presets = [] } = field;
  const preset = presets.find(({ name }) => name === value.trim());
  const choose = (chosen: string) =>
    onValue(chosen === OWN ? (preset?.text ?? presets[0]!.text) : chosen);
  return (
    <>
      <SelectField
        {...{ label, hint }}
        error={preset ? error : undefined}
        value={preset ? preset.name : OWN}
        choices={[...presets.map(({ name }) => name), [OWN, 'Your own, in YAML']]}
        onValue={choose}
      />
      {preset ? (
        <details>
          <summary>What {preset.name} does</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by arrow keys */}
          <section class="raised preset" aria-label={`Recipe ${preset.name}`} tabIndex={0}>
            <pre>{preset.text}</pre>
          </section>
        </details>
      ) : (
        <TextArea
          label={`${label} in YAML`}
          class="mono"
          rows={14}
          spellcheck={false}
          {...{ value, error, onValue }}
        />
      )}
    </>
  );
}

function FileControl({ field, files, error, onFiles }: FieldControlProps) {
  const { label, hint, kind } = field;
  const isMany = kind === 'files';
  return (
    <Field {...{ label, hint, error }}>
      {(attributes) => (
        <div class="stack">
          <input
            {...attributes}
            type="file"
            accept={field.accept}
            multiple={isMany}
            onChange={({ currentTarget }) => {
              const chosen = [...(currentTarget.files ?? [])];
              // The list below shows what is chosen, also after another view was open.
              currentTarget.value = '';
              onFiles(isMany ? [...files, ...chosen] : chosen);
            }}
          />
          {files.length > 0 && (
            <ul>
              {files.map((file, index) => (
                <li key={index} class="row">
                  <bdi class="anywhere">{visible(file.name)}</bdi>
                  <Button
                    kind="quiet"
                    aria-label={`Remove ${file.name}`}
                    onClick={() => onFiles(files.toSpliced(index, 1))}
                  >
                    Remove
                  </Button>
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </Field>
  );
}
