import { SelectField, TextArea, TextField } from '../../components/field.tsx';
import type { FieldSpec, Situation } from './fields.ts';

interface FieldControlProps {
  readonly spec: FieldSpec;
  readonly situation: Situation;
  readonly error: string | undefined;
  readonly onValue: (value: string) => void;
}

/** A field of a request, as its declaration says. */
export function FieldControl({ spec, situation, error, onValue }: FieldControlProps) {
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
