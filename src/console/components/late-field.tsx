import { useState } from 'preact/hooks';
import { Form, TextField, type TextFieldProps } from './field.tsx';

type LateFieldProps = Pick<TextFieldProps, 'label' | 'value' | 'placeholder' | 'onValue'>;

/** A field that gives its value when it is complete, not at each letter, since the server is asked. */
export function LateField({ value, onValue, ...rest }: LateFieldProps) {
  const [text, setText] = useState(value);
  const give = () => text.trim() !== value && onValue(text.trim());
  return (
    <Form onSubmit={give}>
      <TextField {...rest} value={text} onValue={setText} onBlur={give} />
    </Form>
  );
}
