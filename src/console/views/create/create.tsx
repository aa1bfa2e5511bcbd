import { Empty } from '../../components/states.tsx';

export default function Create() {
  return (
    <>
      <h1>Create</h1>
      <Empty title="Not here yet" />
    </>
  );
}
