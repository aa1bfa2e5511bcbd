import type {
  ComponentChildren,
  FormHTMLAttributes,
  InputHTMLAttributes,
  PartialInputHTMLAttributes,
  TextareaHTMLAttributes,
} from 'preact';
import { useId } from 'preact/hooks';
import { type Choice, pairOf } from './form-field.ts';

interface LabelProps {
  readonly label: string;
  /** One sentence below the label. */
  readonly hint?: ComponentChildren;
  /** Why the value was refused: an `ApiError` whose `param` is this field, for instance. */
  readonly error?: string | undefined;
}

interface FieldProps extends LabelProps {
  /** Renders the control with these attributes. */
  readonly children: (attributes: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': boolean;
  }) => ComponentChildren;
}

/** A label, its control, a hint and an error. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': Boolean(error) })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <Fault id={`${id}-error`} text={error} />
    </div>
  );
}

/** Why a value was refused; nothing without a text. */
export function Fault({ id, text }: { readonly id?: string; readonly text: string | undefined }) {
  if (!text) return null;
  return (
    <p class="fault" id={id} role="alert">
      {text}
    </p>
  );
}

interface FormProps extends Omit<FormHTMLAttributes<HTMLFormElement>, 'onSubmit'> {
  readonly onSubmit: () => void;
}

/** A form that the page sends itself. */
export function Form({ onSubmit, ...rest }: FormProps) {
  const submit = (event: Event) => {
    event.preventDefault();
    onSubmit();
  };
  return <form {...rest} onSubmit={submit} />;
}

type ValueProps = { readonly onValue: (value: string) => void; readonly value: string };

/** Reports what the reader types or chooses. */
export function reporting(onValue: ValueProps['onValue']) {
  return ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
    onValue(currentTarget.value);
}

export type TextFieldProps = LabelProps &
  ValueProps &
  Omit<PartialInputHTMLAttributes<HTMLInputElement>, 'value' | 'role'>;

/** A field of one line: text, number, date. */
export function TextField({ label, hint, error, onValue, ...rest }: TextFieldProps) {
  // Each type of input has a type of attributes of its own.
  const given = rest as InputHTMLAttributes<HTMLInputElement>;
  return (
    <Field {...{ label, hint, error }}>
      {(attributes) => (
        <input type="text" {...given} {...attributes} onInput={reporting(onValue)} />
      )}
    </Field>
  );
}

type TextAreaProps = LabelProps &
  ValueProps &
  Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'value'>;

/** A field of several lines. */
export function TextArea({ label, hint, error, onValue, ...rest }: TextAreaProps) {
  return (
    <Field {...{ label, hint, error }}>
      {(attributes) => <textarea rows={4} {...rest} {...attributes} onInput={reporting(onValue)} />}
    </Field>
  );
}

interface SelectFieldProps extends LabelProps, ValueProps {
  readonly choices: readonly Choice[];
}

export function SelectField({ onValue, value, choices, ...labels }: SelectFieldProps) {
  return (
    <Field {...labels}>
      {(attributes) => (
        <select {...attributes} value={value} onChange={reporting(onValue)}>
          {choices.map((choice) => {
            const [one, text] = pairOf(choice);
            return (
              <option key={one} value={one} selected={one === value}>
                {text}
              </option>
            );
          })}
        </select>
      )}
    </Field>
  );
}

interface CheckboxProps {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly onChecked: (checked: boolean) => void;
  readonly disabled?: boolean;
}

export function Checkbox({ label, checked, onChecked, disabled = false }: CheckboxProps) {
  return (
    <label class="checkbox">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={({ currentTarget }) => onChecked(currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
