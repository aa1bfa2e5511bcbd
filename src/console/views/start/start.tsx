import { Empty } from '../../components/states.tsx';

export default function Start() {
  return (
    <>
      <h1>Start</h1>
      <Empty title="Not here yet" />
    </>
  );
}
